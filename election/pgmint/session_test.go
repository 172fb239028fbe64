package pgmint_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// The server ends a silent lock session, not before its lease is over.
func TestLockSessionIsALease(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	const lease = 1500 * time.Millisecond
	c := db.Connect(t)
	began := time.Now() // before the last statement of the session
	b := candidate(t, m, "b", lease, mint.Strict)
	pgtest.Eventually(t, 10*time.Second, "the silent session to be ended by the server", func() bool {
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		        AND (classid::bigint << 32) | objid::bigint = $1`, b.Process()).Scan(&n)
		return err == nil && n == 0
	})
	if took := time.Since(began); took < lease {
		t.Errorf("the session ended after %s, want at least its lease", took)
	}
	_, err := b.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: time.Second}})
	if !errors.Is(err, mint.ErrSessionLost) {
		t.Errorf("a call on the ended session: got %v, want ErrSessionLost", err)
	}
}

// D1: with takeover keep, a silent holder keeps its scope as long as its connection stands.
func TestKeepHasNoLease(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	a := candidate(t, m, "a", 2*time.Second, mint.Keep)
	token := lead(t, a, "s", 2*time.Second)
	b := candidate(t, m, "b", 2*time.Second, mint.Keep)
	gone, err := m.Wait(t.Context(), a.Process()) // a whole slice of five seconds
	if gone || err != nil {
		t.Fatalf("Wait returned %v, %v, want false", gone, err)
	}
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Held || r.Holder != "a" {
		t.Errorf("the bid: got %+v, want Held by a", r)
	}
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Renewed {
		t.Errorf("the holder's heartbeat after the silence: got %v, %v, want Renewed", alive, err)
	}
}

// Waiters wake together, keep no lock, and stall CREATE INDEX CONCURRENTLY for a slice at most.
func TestWaitersWakeTogetherAndHoldNothing(t *testing.T) {
	t.Parallel()
	db, m, a, _ := setup(t)
	c := db.Connect(t)
	run(t, c, `CREATE TABLE big AS SELECT g AS n FROM generate_series(1, 1000) g`)
	beating, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() { // keeps a alive
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-tick.C:
				_, _ = a.Beat(beating, nil)
			}
		}
	}()
	woken := make(chan time.Time, 3)
	for range 3 {
		go func() {
			for {
				gone, err := m.Wait(t.Context(), a.Process())
				if err != nil {
					t.Error(err)
				}
				if gone || err != nil {
					woken <- time.Now()
					return
				}
			}
		}()
	}
	pgtest.Eventually(t, 20*time.Second, "three waiters", func() bool {
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND `+here).Scan(&n)
		return err == nil && n == 3
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Exec(ctx, `CREATE INDEX CONCURRENTLY ON big (n)`); err != nil {
		t.Errorf("CREATE INDEX CONCURRENTLY beside waiters: %v", err)
	}
	stop()
	<-done
	unlockAll(t, db, a)
	var first, last time.Time
	for i := range 3 {
		last = <-woken
		if i == 0 {
			first = last
		}
	}
	t.Logf("three waiters woke within %s of each other", last.Sub(first))
	var shared int
	err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND `+here).Scan(&shared)
	if err != nil || shared != 0 {
		t.Errorf("waiters still hold %d shared locks, %v, want none", shared, err)
	}
}

// After a failover the row is of another history: the epoch jumps over any that can be lost, a release
// does not count, and the hold is the longest registered lease.
func TestForeignHistory(t *testing.T) { t.Parallel(); bothWays(t, foreignHistory) }

func foreignHistory(t *testing.T) {
	t.Helper()
	db, m, a, token := setup(t)
	c := db.Connect(t)
	// A failover to a lagging standby brings an older term back. The fence refuses that term although
	// the row has it, since it may have had a successor.
	run(t, c, `UPDATE conch.leadership SET timeline = 0`)
	if err := pgfence.Fence(t.Context(), c, token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("fence with a term of another history: got %v, want ErrStale", err)
	}
	run(t, c, `UPDATE conch.leadership SET timeline = 1`)
	if err := pgfence.Fence(t.Context(), c, token); err != nil {
		t.Error(err)
	}
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}}); err != nil {
		t.Fatal(err)
	}
	candidate(t, m, "slow", 2*unhurried, mint.Strict) // registered; its term would be lost
	run(t, c, `UPDATE conch.leadership SET timeline = 0`)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != mint.Won || r.Handoff || r.Hold != 2*unhurried || r.Token.Epoch != token.Epoch+1+1_000_000 {
		t.Errorf("the bid: got %+v, want Won with the longest lease as hold and an epoch a million higher", r)
	}
	run(t, c, `UPDATE conch.leadership SET lock_key = 1`)
	unlockAll(t, db, b)
	if r := bid(t, candidate(t, m, "d", unhurried, mint.Strict), mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Refused {
		t.Errorf("a row with another lock key: got %+v, want Refused", r)
	}
}

// The courtesy of a transfer ends even if the database's clock is set back. The jumps of several
// failovers add up to the one jump over all their timelines.
func TestCourtesyAndJumpsSurviveClocksAndFailovers(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	c := db.Connect(t)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true, To: "gone"}}); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Yield {
		t.Errorf("right after a transfer to another candidate: got %+v, want Yield", r)
	}
	run(t, c, `ALTER TABLE conch.leadership DISABLE TRIGGER guard_epoch`) // no server has such a timeline
	run(t, c, `UPDATE conch.leadership SET parted_at = parted_at + interval '1 hour', timeline = -3`)
	r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != mint.Won || r.Token.Epoch != token.Epoch+1+4_000_000 {
		t.Errorf("got %+v, want Won and a jump by the four timelines between", r)
	}
}

// The triggers refuse to lower an epoch and to delete a row, even for the owner.
func TestEpochsAreGuarded(t *testing.T) {
	t.Parallel()
	db, _, _, _ := setup(t)
	c := db.Connect(t)
	for _, sql := range []string{
		`UPDATE conch.leadership SET epoch = 0`, `DELETE FROM conch.leadership`, `UPDATE conch.leadership SET scope = 'x'`,
		`TRUNCATE conch.leadership`,
	} {
		if _, err := c.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: got no error, want one", sql)
		}
	}
}

// One statement wins a thousand scopes, and one renews them.
func TestBatch(t *testing.T) {
	t.Parallel()
	db, m, a, _ := setup(t)
	_ = db
	_ = m
	bids := make([]mint.Bid, 1000)
	for i := range bids {
		bids[i] = mint.Bid{Scope: strings.Repeat("k", i%7+1) + time.Duration(i).String(), Lease: time.Second}
	}
	results, err := a.Try(t.Context(), bids)
	if err != nil {
		t.Fatal(err)
	}
	pulses := make([]mint.Pulse, len(results))
	for i, r := range results {
		if r.Outcome != mint.Won || r.Scope != bids[i].Scope {
			t.Fatalf("bid %d for %q: got %+v, want Won", i, bids[i].Scope, r)
		}
		pulses[i].Token = r.Token
	}
	alive, err := a.Beat(t.Context(), pulses)
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range alive {
		if answer != mint.Renewed {
			t.Fatalf("the answer to pulse %d is not Renewed", i)
		}
	}
}
