package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/runtest"
)

// A long history does not slow a takeover: a hundred thousand rows by day, a million under
// CONCH_NIGHTLY. The test counts pages, not time, which depends on the machine.
func TestLongHistory(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	many := runtest.ByDay(int64(100_000), 1_000_000)
	db, m, a, token := setup(t)
	c := db.Connect(t)
	s := candidate(t, m, "b", 20*time.Minute, mint.Strict) // a lease that outlasts writing the rows
	own := pgmint.Conn(s)
	takeover := func() int {
		run(t, c, `UPDATE conch.leadership SET process_key = 1, parted_at = NULL WHERE scope = 's'`) // as after a crash
		return touched(t, own, `SELECT * FROM conch.bid('b', $1, 'strict', true, '{s}', ARRAY[conch.lock_key('s')], '{1000}', ARRAY[$2::boolean], 0, false, '{}')`, s.Process(), true)
	}
	if _, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil {
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
	           SELECT 'scope ' || g % 1000, g, 'somebody', 'acquired' FROM generate_series(1, $1::bigint) g`, many)
	run(t, c, `ANALYZE conch.leadership_history`)
	after := warm()
	t.Logf("a takeover reads %d pages, %d after %d rows of history", before, after, many)
	if after > before+before/2 {
		t.Errorf("a takeover reads %d pages, and %d after %d rows of history, want at most half as many more", before, after, many)
	}

	run(t, c, `UPDATE conch.leadership SET process_key = 1, parted_at = NULL WHERE scope = 's'`)
	var won mint.Result
	unscanned(t, own, "a takeover", func() { won = bid(t, s, mint.Bid{Scope: "s", Lease: time.Second}) })
	if won.Outcome != mint.Won {
		t.Fatalf("the bid: got %+v, want Won", won)
	}
	unscanned(t, own, "a heartbeat", func() {
		if alive, err := s.Beat(t.Context(), []mint.Pulse{{Token: won.Token, Settle: true}}); err != nil || alive[0] != mint.Renewed {
			t.Errorf("the heartbeat: got %v, %v, want Renewed", alive, err)
		}
		run(t, own, `SELECT conch.beat_process($1, '{s}', ARRAY[gen_random_uuid()])`, s.Process())
	})
	unscanned(t, own, "a release", func() {
		if _, err := s.Release(t.Context(), []mint.Farewell{{Token: won.Token, Released: true}}); err != nil {
			t.Error(err)
		}
	})
	var rows int64
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM conch.leadership_history`).Scan(&rows); err != nil || rows < many {
		t.Errorf("got %d rows of history, %v, want at least %d", rows, err, many)
	}
}
