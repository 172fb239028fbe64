package minttest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// FirstOfMany is a scope that ManyScopes inserts.
const FirstOfMany = "c4ca4238a0b923820dcc509a6f75849b" // MD5 of "1"

// ManyScopes inserts n scopes whose leader has crashed.
func ManyScopes(t *testing.T, c *pgx.Conn, n int) {
	t.Helper()
	Run(t, c, `INSERT INTO conch.leadership SELECT n, conch.lock_key(n), 1, gen_random_uuid(), 'gone', 1000, 1000, false, 1, 'strict',
		(SELECT system_identifier FROM pg_control_system()), 0, '', now(), now() FROM generate_series(1, $1) g, md5(g::text) n`, n)
	Run(t, c, `ANALYZE conch.leadership`)
}

// Campaigners inserts live processes, by locks of c, that campaign for each of n ManyScopes
// with a lease of nine seconds. Their lists of scopes are stored outside their rows.
func Campaigners(t *testing.T, c *pgx.Conn, n, processes int) {
	t.Helper()
	Run(t, c, `INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks)
		SELECT p, 'p' || p, (SELECT array_agg(md5(g::text)) FROM generate_series(1, $1) g), 9000, 'strict', 'process' FROM generate_series(1, $2) p`, n, processes)
	Run(t, c, `SELECT pg_advisory_lock(p) FROM generate_series(1, $1) p`, processes)
}
