package pgmint

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
)

// LockKey is what conch.lock_key returns.
var LockKey = scopeKey

// LockBudgetError refuses a candidate that needs too many locks.
type LockBudgetError = lockBudgetError

// Conn returns the connection of a session.
func Conn(s mint.Session) *pgx.Conn { return s.(*session).pg.Conn() }

// UnlockAll frees every lock of a session, and keeps the session open.
func UnlockAll(ctx context.Context, s mint.Session) error {
	_, err := Conn(s).Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	return err
}
