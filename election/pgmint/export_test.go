package pgmint

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
)

// Conn returns the connection of a session.
func Conn(s mint.Session) *pgx.Conn { return s.(*session).pg.Conn() }

// UnlockAll frees every lock of a session, and keeps the session open.
func UnlockAll(ctx context.Context, s mint.Session) error {
	_, err := Conn(s).Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	return err
}
