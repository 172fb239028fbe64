package pgops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// MaxAdvance is the highest epoch that Advance accepts, so that bids can raise it further in 64 bits.
const MaxAdvance = 1 << 62

// advancePatience is how long Advance waits for acts that hold the fence; new acts wait behind it.
const advancePatience = 5 * time.Second

// Advance raises the epoch of a scope, after a restore from a backup that may be older than
// tokens that are still in use. It deposes the leader, if there is one. After a
// *[pgmint.BlockedError] nothing has changed; after any other error the epoch may have been
// raised, but perhaps not for good.
func Advance(ctx context.Context, cfg pgmint.Config, scope string, epoch int64, actor string) error {
	s, err := admin(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	var unconfirmed *pg.UnconfirmedError
	was, err := pg.QueryConfirmed(ctx, s, pgx.RowTo[int64], `SELECT conch.advance($1, $2, $3)`, scope, epoch, pg.Storable(s.Conn().PgConn(), actor))
	switch {
	case pg.Code(err) == pg.CodeLockTimeout:
		if table := pg.Locked(ctx, cfg.Connection(" admin"), err); errors.As(table, new(*LockedError)) {
			return table
		}
		return blocked(ctx, s.Conn(), scope)
	case errors.As(err, &unconfirmed):
		return fmt.Errorf("pgops: scope %q: %w: see that a standby confirms commits again, and advance to an epoch above %d", scope, err, epoch)
	case err == nil && was[0] >= epoch:
		return fmt.Errorf("pgops: scope %q is at epoch %d already, an epoch never goes down: name one above it", scope, was[0])
	}
	return err
}

// blocked names the sessions that hold the fence of a scope.
func blocked(ctx context.Context, conn *pgx.Conn, scope string) error {
	by, err := pg.LockHolders(ctx, conn,
		`l.locktype = 'advisory' AND l.objsubid = 1 AND (l.classid::bigint << 32) | l.objid::bigint = conch.fence_key($1)`, scope)
	if err != nil {
		return err
	}
	return &pgmint.BlockedError{What: fmt.Sprintf("the fence of scope %q", scope), By: by}
}

// admin opens a session, which can tell whether a standby confirmed a commit.
func admin(ctx context.Context, cfg pgmint.Config) (*pg.Session, error) {
	return pg.Open(ctx, cfg.Connection(" admin"), pg.Settings{LockTimeout: advancePatience})
}

// Below lists the scopes whose epoch is lower than epoch, in order, forgotten ones included.
func Below(ctx context.Context, cfg pgmint.Config, epoch int64) (scopes []string, err error) {
	err = pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT scope FROM conch.leadership WHERE epoch < $1 ORDER BY scope`, epoch)
		if err == nil {
			scopes, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return scopes, err
}
