package pgops_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Watch tells each event that is recorded after it began once, and survives the loss of its
// connections.
func TestWatch(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	o := observe(t, db.URL)
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan pgops.Event, 100)
	done := make(chan error, 1)
	go func() {
		done <- o.Watch(ctx, "s", func(e pgops.Event) error { events <- e; return nil })
	}()
	c := db.Connect(t)
	pgtest.Eventually(t, 10*time.Second, "the watcher to listen", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch watcher'`).Scan(&n) == nil && n == 1
	})
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true, Reason: "bye"}}); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		select {
		case e := <-events:
			if e.Event != want || e.Scope != "s" {
				t.Errorf("got the event %+v, want %s of s", e, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("got no event, want %s", want)
		}
	}
	next("released")
	run(t, c, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name IN ('conch watcher', 'conch observer')`)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	token = lead(t, b, "s", unhurried)
	next("acquired")
	silence(t, c, `application_name = 'conch observer'`)
	if _, err := b.Release(t.Context(), []mint.Farewell{{Token: token, Released: true, Reason: "bye"}}); err != nil {
		t.Fatal(err)
	}
	next("released")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(events) != 0 {
		t.Errorf("got %d more events, want none", len(events))
	}
}

// One bid writes a thousand events, and other transactions commit before it: Watch misses
// none, not even those of a transaction that was under way when it began.
func TestWatchMissesNoLateCommit(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	slow, quick := db.Connect(t), db.Connect(t)
	record := func(c *pgx.Conn, n int) {
		t.Helper()
		run(t, c, `INSERT INTO conch.leadership_history (scope, epoch, holder, event)
			SELECT 's', g, 'somebody', 'acquired' FROM generate_series(1, $1) g`, n)
		run(t, c, `NOTIFY conch_leader_change, 's::1'`)
	}
	run(t, slow, `BEGIN`)
	record(slow, 1)
	record(quick, 300)
	o := observe(t, db.URL)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan int64, 2000)
	done := make(chan error, 1)
	go func() {
		done <- o.Watch(ctx, "s", func(e pgops.Event) error { told <- e.ID; return nil })
	}()
	pgtest.Eventually(t, 10*time.Second, "the watcher to listen", func() bool {
		var n int
		return quick.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch watcher'`).Scan(&n) == nil && n == 1
	})
	expect := func(first, last int64) {
		t.Helper()
		for id := first; id <= last; id++ {
			select {
			case got := <-told:
				if got != id {
					t.Fatalf("got event %d, want %d", got, id)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("got no event, want %d", id)
			}
		}
	}
	record(quick, 1)
	expect(302, 302)
	run(t, slow, `COMMIT`)
	expect(1, 1)
	run(t, slow, `BEGIN`)
	record(slow, 1000)
	record(quick, 1)
	expect(1303, 1303)
	record(quick, 1)
	expect(1304, 1304)
	run(t, slow, `COMMIT`)
	expect(303, 1302)
	cancel()
	if err := <-done; err != nil || len(told) != 0 {
		t.Errorf("got %d more events, %v, want none", len(told), err)
	}
}
