package pgops

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// LedError says why a scope is not forgotten: somebody leads it or campaigns for it, or
// there is no such scope.
type LedError struct{ Scope, Why string }

func (e *LedError) Error() string {
	return fmt.Sprintf("scope %q is not forgotten: %s", e.Scope, e.Why)
}

// Forget hides a scope from lists until it is led again. Its epoch stays: if the scope comes
// back, its tokens go on from there. A scope that is in use, or that does not exist, is a
// *[LedError].
func Forget(ctx context.Context, cfg pgmint.Config, scope string) error {
	s, err := admin(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	why, err := pg.QueryConfirmed(ctx, s, pgx.RowTo[string], `SELECT conch.forget($1)`, scope)
	if err == nil && why[0] != "" {
		return &LedError{Scope: scope, Why: why[0]}
	}
	return pg.Locked(ctx, cfg.Connection(" admin"), err)
}
