package pgmint

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Withdraw takes a candidate, by its process key, off the lists of some of its
// scopes, so that status does not show it there and nobody hands them over to it.
// It goes over a connection of its own: the lock session is busy with its elector,
// and may be silent for a third of a lease. Terms and locks are not touched.
func (m *Mint) Withdraw(ctx context.Context, process int64, scopes ...string) error {
	return with(ctx, m.cfg, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SELECT conch.withdraw($1, $2)`, process, scopes)
		return err
	})
}
