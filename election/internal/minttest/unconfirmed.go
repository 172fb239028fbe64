package minttest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Unconfirmed makes the commits of a server wait for a standby that does not exist. Its function
// cancelWait cancels the wait of the next commit.
func Unconfirmed(t *testing.T, server *postmaster.Server) (c *pgx.Conn, cancelWait func()) {
	t.Helper()
	c = Database(server).Connect(t)
	Run(t, c, `SET synchronous_commit = local`)
	Run(t, c, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	Run(t, c, `SELECT pg_reload_conf()`)
	pgtest.Eventually(t, 20*time.Second, "the reload", func() bool {
		var s string
		return c.QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&s) == nil && s == "nobody"
	})
	waiting := func() bool { // reports whether commits wait, and cancels their waits
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&n)
		return err == nil && n > 0
	}
	// SHOW has the setting before the server's checkpointer applies it.
	d := Database(server).Connect(t)
	pgtest.Eventually(t, 20*time.Second, "commits to wait", func() bool {
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = d.Exec(t.Context(), `SELECT pg_logical_emit_message(true, 'conch', 'any write')`)
		}()
		for {
			select {
			case <-over:
				return false
			default:
				if waiting() {
					<-over
					return true
				}
			}
		}
	})
	return c, func() {
		t.Helper()
		pgtest.Eventually(t, 20*time.Second, "the commit to wait for its standby", waiting)
	}
}
