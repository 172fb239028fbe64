package pgmint_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// touched is how many pages a statement reads, those of statements inside it included.
func touched(t *testing.T, c *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var text []byte
	if err := c.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+sql, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// unscanned runs f inside a transaction of c and fails if that made the server read
// the history from end to end.
func unscanned(t *testing.T, c *pgx.Conn, what string, f func()) {
	t.Helper()
	run(t, c, `BEGIN`)
	f()
	var scans int64
	if err := c.QueryRow(t.Context(), `SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_xact_all_tables WHERE relname = 'leadership_history'`).Scan(&scans); err != nil {
		t.Fatal(err)
	}
	run(t, c, `COMMIT`)
	if scans != 0 {
		t.Errorf("%s scans the whole history, %d times", what, scans)
	}
}

// A million rows of history slow no takeover down, and no look at it
// that has a limit. Counted in pages, since time is a matter of the machine.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	c := db.Connect(t)
	s := candidate(t, m, "b", 20*time.Minute, election.Strict) // silent while a million rows are written
	own := pgmint.Conn(s)
	takeover := func() int {
		run(t, c, `UPDATE conch.leadership SET process_key = 1, parted_at = NULL WHERE scope = 's'`) // a dead holder's
		return touched(t, own, `SELECT * FROM conch.bid('b', $1, 'strict', true, '{s}', ARRAY[conch.lock_key('s')], '{1000}', ARRAY[$2::boolean], 0, false, '{}')`, s.Process(), true)
	}
	if _, err := a.Beat(t.Context(), []election.Pulse{{Token: token}}); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	run(t, own, `SELECT pg_advisory_lock(conch.lock_key('s'))`)
	warm := func() (pages int) {
		for range 4 { // the first ones read the catalog as well
			pages = takeover()
		}
		return pages
	}
	before := warm()
	run(t, c, `INSERT INTO conch.leadership_history (scope, epoch, holder, event)
	           SELECT 'scope ' || g % 1000, g, 'somebody', 'acquired' FROM generate_series(1, 1000000) g`)
	run(t, c, `ANALYZE conch.leadership_history`)
	after := warm()
	t.Logf("a takeover reads %d pages, %d after a million rows of history", before, after)
	if after > before+before/2 {
		t.Errorf("a takeover reads %d pages, and %d after a million rows of history", before, after)
	}

	run(t, c, `UPDATE conch.leadership SET process_key = 1, parted_at = NULL WHERE scope = 's'`)
	var won election.Result
	unscanned(t, own, "a takeover", func() { won = bid(t, s, election.Bid{Scope: "s", Lease: time.Second}) })
	if won.Outcome != election.Won {
		t.Fatalf("%+v", won)
	}
	unscanned(t, own, "a heartbeat", func() {
		if alive, err := s.Beat(t.Context(), []election.Pulse{{Token: won.Token, Settle: true}}); err != nil || alive[0] != election.Renewed {
			t.Errorf("%v, %v", alive, err)
		}
		run(t, own, `SELECT conch.beat_process($1, '{s}', ARRAY[gen_random_uuid()])`, s.Process())
	})
	unscanned(t, own, "a release", func() {
		if _, err := s.Release(t.Context(), []election.Farewell{{Token: won.Token, Released: true}}); err != nil {
			t.Error(err)
		}
	})
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	unscanned(t, pgmint.ObserverConn(o), "a look", func() {
		if all, err := o.Leaderships(t.Context(), ""); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
		for scope, want := range map[string]int{"": 10, "scope 7": 10, "unknown": 0} {
			if events, err := o.History(t.Context(), scope, 10); err != nil || len(events) != want {
				t.Errorf("%d events of %q, %v", len(events), scope, err)
			}
		}
	})
	// Nor backwards through all of it in search of a scope of which there is nothing.
	pages := touched(t, c, `SELECT id FROM conch.leadership_history WHERE scope = 'unknown' ORDER BY id DESC LIMIT 10`)
	if pages > 50 {
		t.Errorf("looking for a scope without a history reads %d pages", pages)
	}
	var rows int64
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM conch.leadership_history`).Scan(&rows); err != nil || rows < 1_000_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
