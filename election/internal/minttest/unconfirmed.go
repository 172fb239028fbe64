package minttest

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Silent connects as the standby nobody, which confirms that it has all until now, and nothing later.
func Silent(t *testing.T, server *postmaster.Server) {
	t.Helper()
	cfg, err := pgconn.ParseConfig(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["replication"], cfg.RuntimeParams["application_name"] = "true", "nobody"
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	found, err := conn.Exec(t.Context(), `IDENTIFY_SYSTEM`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var high, low uint32
	if _, err := fmt.Sscanf(string(found[0].Rows[0][2]), "%X/%X", &high, &low); err != nil {
		t.Fatal(err)
	}
	status := []byte{'r'} // what was written, flushed and applied; a time; and no wish for a reply
	for range 3 {
		status = binary.BigEndian.AppendUint64(status, uint64(high)<<32|uint64(low))
	}
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL " + string(found[0].Rows[0][2])})
	conn.Frontend().Send(&pgproto3.CopyData{Data: append(status, make([]byte, 9)...)})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
}

// Unconfirmed makes the commits of a server wait for a standby that never confirms one. Its function
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
	Silent(t, server)
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
