package pgmint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// MaxAdvance is the highest epoch that Advance takes: bids count on from it, and an
// epoch is a 64-bit number.
const MaxAdvance = 1 << 62

// advancePatience is how long Advance waits for acts that hold the fence. New ones wait for it.
const advancePatience = 5 * time.Second

// Advance raises the epoch of a scope, after a restore from a backup that may be
// older than tokens still about. Whoever leads it is deposed. An error says that it
// may not have been raised, or not for good; a *[BlockedError] that it was not.
func Advance(ctx context.Context, cfg Config, scope string, epoch int64, actor string) error {
	// Over a session like a leader's, since a commit that nobody but this server has counts as little.
	s, err := pg.Open(ctx, cfg.pg(" admin"), pg.Settings{LockTimeout: advancePatience})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	var unconfirmed *pg.UnconfirmedError
	was, err := ask(ctx, s, pgx.RowTo[int64], `SELECT conch.advance($1, $2, $3)`, scope, epoch, storable(s.Conn().PgConn(), actor))
	switch {
	case pg.Code(err) == pg.CodeLockTimeout:
		return blocked(ctx, s.Conn(), fmt.Sprintf("the fence of scope %q", scope), onFence, scope)
	case errors.As(err, &unconfirmed):
		return fmt.Errorf("scope %q: %w: see that a standby confirms commits again, and advance to an epoch above %d", scope, err, epoch)
	case err == nil && was[0] >= epoch:
		return fmt.Errorf("scope %q is at epoch %d already, an epoch never goes down: name one above it", scope, was[0])
	}
	return err
}

// Below lists the scopes whose epoch is below one, in their order, forgotten ones too.
func Below(ctx context.Context, cfg Config, epoch int64) (scopes []string, err error) {
	err = with(ctx, cfg, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT scope FROM conch.leadership WHERE epoch < $1 ORDER BY scope`, epoch)
		if err == nil {
			scopes, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return scopes, err
}

// LedError says that a scope is not forgotten, and why.
type LedError struct{ Scope, Why string }

func (e *LedError) Error() string {
	return fmt.Sprintf("scope %q is not forgotten: %s", e.Scope, e.Why)
}

// Forget hides a scope from lists until it is led again. Its epoch stays: if the scope comes
// back, its tokens go on from there. The error is a *[LedError] if somebody leads the scope or
// campaigns for it, or if there is no such scope.
func Forget(ctx context.Context, cfg Config, scope string) error {
	s, err := pg.Open(ctx, cfg.pg(" admin"), pg.Settings{LockTimeout: advancePatience})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	why, err := ask(ctx, s, pgx.RowTo[string], `SELECT conch.forget($1)`, scope)
	if err == nil && why[0] != "" {
		return &LedError{Scope: scope, Why: why[0]}
	}
	return err
}
