package pgops_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// queued makes a reader and, behind it, a statement that wants its table for itself. Everybody else waits for both.
func queued(t *testing.T, db *pgtest.DB, table, statement string) (reader, waiter *pgx.Conn) {
	t.Helper()
	reader, waiter = db.Connect(t), db.Connect(t)
	run(t, reader, `SET application_name = 'report'`)
	run(t, reader, `BEGIN`)
	run(t, reader, `SELECT * FROM conch.`+table)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = waiter.Exec(context.WithoutCancel(t.Context()), statement) // until the reader has ended
	}()
	t.Cleanup(func() {
		_, _ = reader.Exec(context.Background(), `ROLLBACK`)
		<-over
	})
	pgtest.Eventually(t, 20*time.Second, "the statement to wait", func() bool {
		return text(t, db.Connect(t), fmt.Sprintf(`SELECT count(*)::text FROM pg_locks WHERE pid = %d AND NOT granted`, waiter.PgConn().PID())) == "1"
	})
	return reader, waiter
}

// names demands a LockedError whose first lock is that of the root, and which names a statement that ends it.
func names(t *testing.T, what string, err error, root uint32, parts ...string) {
	t.Helper()
	locked, ok := errors.AsType[*pgops.LockedError](err)
	if !ok || len(locked.Locks) == 0 || locked.Locks[0].PID != int32(root) {
		t.Errorf("%s: got %v, want pid %d to be blamed first", what, err, root)
		return
	}
	for _, part := range parts {
		if !strings.Contains(locked.Error(), part) {
			t.Errorf("%s: %q does not contain %q", what, locked, part)
		}
	}
}

// Nobody can look or lead while a table is locked, but everybody is told who locks it, and how to end that.
func TestALockedTableIsNamed(t *testing.T) {
	t.Parallel()
	for table, statement := range map[string]string{
		"heartbeat":  `VACUUM FULL conch.heartbeat`,
		"process":    `TRUNCATE conch.process`,
		"leadership": `ALTER TABLE conch.leadership ADD COLUMN more int`,
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			db, m, a, token := setup(t)
			cfg := pgmint.Config{URL: db.URL}
			o := observe(t, db.URL)
			reader, waiter := queued(t, db, table, statement)
			root := reader.PgConn().PID()
			all, err := o.Scopes(t.Context(), "")
			names(t, "status", err, root, "(report) holds conch."+table, fmt.Sprintf("pg_terminate_backend(%d)", root),
				statement, fmt.Sprintf("pg_cancel_backend(%d)", waiter.PgConn().PID()))
			if table != "leadership" && (len(all) != 1 || all[0].Holder != "a" || all[0].Epoch != token.Epoch || !all[0].Held) {
				t.Errorf("status: got %+v, want what conch.leadership tells", all)
			}
			_, err = pgops.Ask(t.Context(), cfg, pgops.Request{Scope: "s", Actor: "ops"}, func(string) {})
			names(t, "drain", err, root)
			if table == "leadership" {
				names(t, "advance", pgops.Advance(t.Context(), cfg, "s", 100, "ops"), root)
				_, err = pgops.Below(t.Context(), cfg, 100)
				names(t, "below", err, root)
			}
			if table == "heartbeat" {
				_, err = a.Beat(t.Context(), []mint.Pulse{{Token: token}})
				names(t, "a heartbeat", err, root)
				_, err = a.Try(t.Context(), []mint.Bid{{Scope: "t", Lease: unhurried}})
				names(t, "a bid", err, root)
			}
			if table == "process" {
				_, err = m.Open(t.Context(), mint.Candidate{ID: "b", Scopes: []string{"s"}, Lease: unhurried, Takeover: mint.Strict})
				names(t, "a new session", err, root)
			}
		})
	}
}

// A role that may not see the statements of others is told so, with the pid all the same. A literal and what turns a
// terminal is not shown.
func TestALockIsNamedHarmlessly(t *testing.T) {
	t.Parallel()
	c := granted(t)
	locker := c.DB.Connect(t)
	run(t, locker, `BEGIN`)
	run(t, locker, "LOCK TABLE conch.leadership_history")
	run(t, locker, "SELECT /* \x1b[2J */ 1, 'the password'")
	root := locker.PgConn().PID()
	_, err := observe(t, c.DB.URL).History(t.Context(), "", 10)
	names(t, "history", err, root, "statement: SELECT /* [2J */ 1, …")
	if strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "password") {
		t.Errorf("%q is not harmless", err)
	}
	_, err = observe(t, c.As(t, c.Observer)).History(t.Context(), "", 10)
	names(t, "history for an observer", err, root, "may not see its statement")
}

// A prepared transaction has no process to end: its name is told, also where a statement waits for it.
func TestAPreparedLockIsNamed(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Settings: map[string]string{"max_prepared_transactions": "2"}})
	cfg := pgmint.Config{URL: server.URL("postgres")}
	if err := pgmint.Up(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	db := minttest.Database(server)
	c := db.Connect(t)
	run(t, c, `BEGIN; LOCK TABLE conch.schema_version; PREPARE TRANSACTION 'it''s'`)
	names(t, "check", pgmint.Check(t.Context(), cfg), 0, `ROLLBACK PREPARED 'it''s'`, "holds conch.schema_version (AccessExclusiveLock)")
	run(t, c, `ROLLBACK PREPARED 'it''s'`)
	run(t, c, `BEGIN; SELECT * FROM conch.schema_version; PREPARE TRANSACTION 'read'`)
	over, waiter := make(chan struct{}), db.Connect(t)
	go func() {
		defer close(over)
		_, _ = waiter.Exec(context.WithoutCancel(t.Context()), `VACUUM FULL conch.schema_version`)
	}()
	pgtest.Eventually(t, 20*time.Second, "the statement to wait", func() bool {
		return text(t, c, `SELECT count(*)::text FROM pg_locks WHERE locktype = 'relation' AND NOT granted`) == "1"
	})
	names(t, "check", pgmint.Check(t.Context(), cfg), 0, `ROLLBACK PREPARED 'read'`, "VACUUM FULL conch.schema_version")
	run(t, c, `ROLLBACK PREPARED 'read'`)
	<-over
}
