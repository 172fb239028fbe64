package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// byProcess makes a database, a mint with ProcessLocks, and a leader of scope "s".
func byProcess(t *testing.T) (*pgtest.DB, *pgmint.Mint, mint.Session) {
	t.Helper()
	db := pgtest.New(t)
	m := mintWith(t, pgmint.Config{URL: db.URL, Locks: pgmint.ProcessLocks})
	a := candidate(t, m, "a", 20*time.Second, mint.Strict)
	lead(t, a, "s", 20*time.Second)
	return db, m, a
}

// A bid that found the holder dead checks again once it has locked the row: a rival, whose process
// lives, may have won in between.
func TestHolderIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for _, locks := range []pgmint.Locks{pgmint.ProcessLocks, pgmint.SessionLocks} {
		t.Run(string(locks), func(t *testing.T) { t.Parallel(); looksAgain(t, locks, true) })
		t.Run(string(locks)+", fence held on", func(t *testing.T) { t.Parallel(); looksAgain(t, locks, false) })
	}
}

// looksAgain replaces the holder while a bid waits for the fence, which is then freed if free is set.
func looksAgain(t *testing.T, locks pgmint.Locks, free bool) {
	t.Helper()
	db, m, a := byProcess(t)
	b := candidate(t, mintWith(t, pgmint.Config{URL: db.URL, Locks: locks}), "b", 20*time.Second, mint.Strict)
	c := candidate(t, m, "c", 20*time.Second, mint.Strict)
	unlockAll(t, db, a)
	blocker, watching := db.Connect(t), db.Connect(t)
	run(t, blocker, `SELECT pg_advisory_lock_shared(conch.fence_key('s'))`)
	block := 9 * time.Second
	if !free {
		block = 2 * time.Second
	}
	answer := make(chan mint.Result, 1)
	go func() {
		r, err := b.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: time.Second, Block: block}})
		if err != nil {
			t.Error(err)
			r = make([]mint.Result, 1)
		}
		answer <- r[0]
	}()
	pgtest.Eventually(t, 10*time.Second, "the bid to wait for the fence", func() bool {
		var n int
		return watching.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'conch b' AND wait_event_type = 'Lock'`).Scan(&n) == nil && n == 1
	})
	if _, err := blocker.Exec(t.Context(), `UPDATE conch.leadership SET epoch = epoch + 1, term = gen_random_uuid(), holder = 'c', process_key = $1`, c.Process()); err != nil {
		t.Fatal(err)
	}
	want := mint.Busy
	if free {
		run(t, blocker, `SELECT pg_advisory_unlock_shared(conch.fence_key('s'))`)
		want = mint.Held
	}
	if r := <-answer; r.Outcome != want || r.Holder != "c" || r.Process != c.Process() {
		t.Errorf("got %+v, want c as the holder: Held with a free fence, otherwise Busy", r)
	}
	if parted := text(t, watching, `SELECT count(*)::text FROM conch.leadership WHERE parted_at IS NOT NULL`); parted != "0" {
		t.Error("the term of a live process was given up")
	}
	var stones int
	if err := watching.QueryRow(t.Context(), `SELECT count(*) FROM conch.process WHERE tombstoned`).Scan(&stones); err != nil || stones != 0 {
		t.Errorf("got %d tombstones, %v, want none, since no leader was deposed", stones, err)
	}
}

// With ProcessLocks two bids meet at the fence, since neither locks the scope. A bid tells a rival from a
// fenced transaction, for which it would wait and end sessions.
func TestRivalIsNoAct(t *testing.T) {
	t.Parallel()
	db, m, a := byProcess(t)
	unlockAll(t, db, a)
	b := candidate(t, m, "b", 20*time.Second, mint.Strict)
	rival := db.Connect(t)
	run(t, rival, `BEGIN`)
	run(t, rival, `SELECT pg_advisory_xact_lock(conch.fence_key('s'))`)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Held {
		t.Errorf("beside a rival that mints: got %+v, want Held", r)
	}
	run(t, rival, `ROLLBACK`)
	run(t, rival, `BEGIN`)
	run(t, rival, `SELECT pg_advisory_xact_lock_shared(conch.fence_key('s'))`)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Busy {
		t.Errorf("beside a fenced transaction: got %+v, want Busy", r)
	}
	// An eviction also spares the lock session of a rival.
	c := candidate(t, m, "c", 20*time.Second, mint.Strict)
	run(t, pgmint.Conn(c), `BEGIN`)
	run(t, pgmint.Conn(c), `SELECT pg_advisory_xact_lock_shared(conch.fence_key('s'))`)
	r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Millisecond, Block: 50 * time.Millisecond, Evict: true})
	if len(r.Blockers) != 1 {
		t.Errorf("got the evictions %+v, want only the fenced transaction", r.Blockers)
	}
	run(t, pgmint.Conn(c), `COMMIT`)
	pgtest.Eventually(t, 10*time.Second, "the fence to be free", func() bool {
		return bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}).Outcome == mint.Won
	})
}

// A heartbeat by process writes one row for all terms, and settles the terms that it must.
func TestBeatByProcessSettles(t *testing.T) {
	t.Parallel()
	db, m, a := byProcess(t)
	unlockAll(t, db, a)
	b := candidate(t, m, "b", 20*time.Second, mint.Strict)
	token := lead(t, b, "s", time.Second)
	c := db.Connect(t)
	hold := func() (ms int) {
		if err := c.QueryRow(t.Context(), `SELECT hold_ms FROM conch.leadership WHERE scope = 's'`).Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	for _, settle := range []bool{false, true} {
		if alive, err := b.Beat(t.Context(), []mint.Pulse{{Token: token, Settle: settle}}); err != nil || alive[0] != mint.Renewed {
			t.Fatal(alive, err)
		}
		if want := map[bool]int{false: 20_000, true: 1000}[settle]; hold() != want {
			t.Errorf("got a hold of %d ms, want %d", hold(), want)
		}
	}
	var beats int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM conch.heartbeat WHERE holder = 'b' AND beat_at > (SELECT acquired_at + interval '1 second' FROM conch.leadership)`).Scan(&beats); err != nil || beats != 0 {
		t.Errorf("got %d rows written in conch.heartbeat, %v, want none", beats, err)
	}
}

// A process whose key is locked is not deleted, however long ago it was seen by the clock.
func TestALiveProcessIsNotForgotten(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := mintWith(t, pgmint.Config{URL: db.URL, Locks: pgmint.ProcessLocks})
	a := candidate(t, m, "a", unhurried, mint.Strict)
	token := lead(t, a, "s", unhurried)
	if err := candidate(t, m, "ended", unhurried, mint.Strict).Close(); err != nil {
		t.Fatal(err)
	}
	c := db.Connect(t)
	pgtest.Eventually(t, 10*time.Second, "the ended process to be forgotten", func() bool {
		run(t, c, `UPDATE conch.process SET last_seen = last_seen - interval '2 days'`)
		_ = candidate(t, m, "next", unhurried, mint.Strict).Close()
		var ended, live int
		err := c.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE id = 'ended'), count(*) FILTER (WHERE id = 'a') FROM conch.process`).Scan(&ended, &live)
		if err != nil || live != 1 {
			t.Fatalf("got %d rows of the live process, %v, want one", live, err)
		}
		return ended == 0
	})
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Renewed {
		t.Errorf("the heartbeat of the live process: got %v, %v, want Renewed", alive, err)
	}
}

// If a process bids again for a scope that it won, since the answer was lost, the history says so.
func TestTheHistoryOfABidMadeTwice(t *testing.T) {
	t.Parallel()
	db, _, a, _ := setup(t)
	lead(t, a, "s", time.Second)
	var events string
	err := db.Connect(t).QueryRow(t.Context(), `SELECT string_agg(event || ' ' || epoch || ' ' || reason, '; ' ORDER BY id) FROM conch.leadership_history`).Scan(&events)
	if want := "acquired 1 first; lost 1 its own process bid for it again; acquired 2 takeover"; err != nil || events != want {
		t.Errorf("got the history %q, %v; want %q", events, err, want)
	}
}
