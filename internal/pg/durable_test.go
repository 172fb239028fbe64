package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A warning makes the outcome of a commit unknown, unless a statement failed. It arrives
// although the database is set to send only errors.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if _, err := db.Connect(t).Exec(t.Context(), `ALTER DATABASE `+db.Name+` SET client_min_messages = error`); err != nil {
		t.Fatal(err)
	}
	conn, err := pg.Connect(t.Context(), db.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	say := func(statements ...string) error {
		var batch pgx.Batch
		batch.Queue(pg.Durable)
		for _, sql := range statements {
			batch.Queue(sql)
		}
		return pg.Confirmed(conn, func() error { return conn.SendBatch(t.Context(), &batch).Close() })
	}
	const warns = `DO $$ BEGIN RAISE WARNING 'careful'; END $$`
	var unknown *pg.UnconfirmedError
	if err := say(warns); !errors.As(err, &unknown) || unknown.Warning != "careful" {
		t.Errorf("with a warning: got %v, want an *UnconfirmedError", err)
	}
	if err := say(`SELECT 1`); err != nil {
		t.Errorf("after an earlier warning: got %v, want no error", err)
	}
	if err := say(`DO $$ BEGIN RAISE NOTICE 'aside'; END $$`); err != nil {
		t.Errorf("with a notice: got %v, want no error", err)
	}
	if err := say(warns, `SELECT 1/0`); pg.Code(err) != "22012" {
		t.Errorf("with a warning and a division by zero: got %v, want SQLSTATE 22012", err)
	}
}

// That the queue of notifications is half full says nothing about the commit that it comes with.
func TestTheQueueOfNotificationsWarnsInVain(t *testing.T) {
	t.Parallel()
	for routine, want := range map[string]bool{"asyncQueueFillWarning": false, "SyncRepWaitForLSN": true, "": true} {
		if got := pg.IsWarning(&pgconn.Notice{Severity: "WARNING", Routine: routine}); got != want {
			t.Errorf("a warning of %q: got %t, want %t", routine, got, want)
		}
	}
}
