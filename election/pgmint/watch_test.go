package pgmint_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// One bid writes a thousand events, and others commit theirs before it: none is missed,
// also of what was under way when the watch began.
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
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan int64, 2000)
	done := make(chan error, 1)
	go func() {
		done <- o.Watch(ctx, "s", func(e pgmint.Event) error { told <- e.ID; return nil })
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
					t.Fatalf("told of %d, want %d", got, id)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%d is never told of", id)
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
		t.Errorf("%d events more, %v", len(told), err)
	}
}
