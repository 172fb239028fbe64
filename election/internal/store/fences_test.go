package store

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// led returns a store in which a process leads scope s under SessionLocks.
func led(t *testing.T, lease time.Duration) (s *Store, id int64, token fence.Token) {
	t.Helper()
	s = New()
	id = candidate(s, "a", lease)
	return s, id, wins(t, s, 0, id, lease).Token
}

func candidate(s *Store, id string, lease time.Duration) int64 {
	return s.Open(0, mint.Candidate{ID: id, Lease: lease, Takeover: mint.Strict, Scopes: []string{"s"}}, SessionLocks)
}

func wins(t *testing.T, s *Store, now time.Duration, id int64, lease time.Duration) mint.Result {
	t.Helper()
	r, err := s.Try(now, id, []mint.Bid{{Scope: "s", Lease: lease}})
	if err != nil || r[0].Outcome != mint.Won {
		t.Fatalf("bid: %+v, %v; want Won", r, err)
	}
	return r[0]
}

func says(t *testing.T, s *Store, id int64, f mint.Farewell, want mint.Outcome) {
	t.Helper()
	got, err := s.Release(0, id, []mint.Farewell{f})
	if err != nil || got[0].Outcome != want {
		t.Errorf("farewell: %+v, %v; want outcome %d", got, err, want)
	}
}

// A fence with an old snapshot neither refuses a valid token as stale nor passes a stale one.
func TestAnOldSnapshotTellsWhatIsCertain(t *testing.T) {
	t.Parallel()
	s, id, first := led(t, time.Second)
	before := s.See("s")
	says(t, s, id, mint.Farewell{Token: first, Released: true}, mint.Said)
	parted := s.See("s")
	second := wins(t, s, 0, id, time.Second).Token
	now := s.See("s")
	for _, c := range []struct {
		what  string
		token fence.Token
		seen  Seen
		want  error
	}{
		{"valid, seen now", second, now, nil},
		{"valid, seen before it was minted", second, before, ErrAgain},
		{"valid, seen while nobody led", second, parted, ErrAgain},
		{"stale, seen while it led", first, before, ErrAgain},
		{"stale, seen now", first, now, fence.ErrStale},
		{"stale, seen while nobody led", first, parted, fence.ErrStale},
		{"valid, seen before there was a row", second, Seen{}, ErrAgain},
	} {
		if _, err := s.FenceClosely(0, c.token, c.seen); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	s.Break(StaleForCertain)
	if _, err := s.FenceClosely(0, second, before); !errors.Is(err, fence.ErrStale) {
		t.Errorf("without the rule a valid token got %v, want ErrStale", err)
	}
	if _, err := s.FenceClosely(0, first, before); err != nil {
		t.Errorf("without the rule a stale token got %v, want to pass", err)
	}
}

// A heartbeat or farewell does not wait for a row that is shared or locked. A later heartbeat
// settles the term.
func TestATakenRow(t *testing.T) {
	t.Parallel()
	s, id, token := led(t, time.Second)
	s.rows["s"].hold = time.Minute
	fenced, err := s.FenceClosely(0, token, s.See("s"))
	if err != nil {
		t.Fatal(err)
	}
	says(t, s, id, mint.Farewell{Token: token}, mint.Locked)
	if alive, err := s.Beat(0, id, []mint.Pulse{{Token: token, Settle: true}}); err != nil || alive[0] != mint.Renewed || s.rows["s"].hold != time.Minute {
		t.Errorf("beat while the row is shared: %v, %v, hold %s; want Renewed and the old hold", alive, err, s.rows["s"].hold)
	}
	s.Unshare(fenced)
	if _, err := s.Beat(0, id, []mint.Pulse{{Token: token}}); err != nil || s.rows["s"].hold != time.Second {
		t.Errorf("the next heartbeat did not settle the term: %v, hold %s", err, s.rows["s"].hold)
	}
	says(t, s, id, mint.Farewell{Token: token}, mint.Said)
	if !s.Fenced("s") {
		t.Error("the fence ended when the row was no longer shared")
	}
}

// One text that cannot be stored fails the whole Release, which has no effect.
func TestPoison(t *testing.T) {
	t.Parallel()
	s, id, token := led(t, time.Second)
	poisoned := mint.Farewell{Token: token, Reason: "bad " + Poison}
	other := mint.Farewell{Token: fence.Token{Scope: "other"}}
	if got, err := s.Release(0, id, []mint.Farewell{other, poisoned}); !errors.Is(err, ErrPoisoned) || got != nil {
		t.Errorf("release: %+v, %v; want ErrPoisoned", got, err)
	}
	if !s.Current(token) {
		t.Error("the poisoned farewell ended the term")
	}
	poisoned.Bare = true
	says(t, s, id, poisoned, mint.Said)
}

// A transaction that is executing is ended only by an eviction, and only once it is old.
func TestWhatWorksDoesNotIdle(t *testing.T) {
	t.Parallel()
	s, id, token := led(t, time.Second)
	for _, works := range []bool{true, false} {
		fenced, err := s.Fence(0, token)
		if err != nil {
			t.Fatal(err)
		}
		s.Works(fenced, works, 0)
	}
	if s.sessions[id].usedAt = time.Minute; len(s.Expire(time.Minute)) > 0 || len(s.fences) != 1 {
		t.Errorf("%d of two transactions are left, want the executing one", len(s.fences))
	}
	young, err := s.Fence(time.Minute, token)
	if err != nil {
		t.Fatal(err)
	}
	if ended := s.evict(time.Minute, mint.Bid{Scope: "s", Lease: time.Second}); len(ended) != 1 || s.fences[young] == nil || len(s.Evicted) != 1 {
		t.Errorf("evicted %+v, want the old transaction only", ended)
	}
}

// A failover to a lagging standby forgets later candidates and their leases.
func TestAFailoverForgetsRegistrations(t *testing.T) {
	t.Parallel()
	for lag, want := range []struct {
		known bool
		hold  time.Duration
	}{{true, time.Minute}, {true, time.Minute}, {false, 2 * time.Second}} {
		s, a, _ := led(t, time.Second)
		s.End(a)
		b := candidate(s, "b", time.Minute)
		wins(t, s, 0, b, time.Minute)
		s.Promote(lag)
		if s.Registered(b) != want.known {
			t.Errorf("lag %d: registered: %v", lag, s.Registered(b))
		}
		c := candidate(s, "c", 2*time.Second)
		if hold := wins(t, s, 0, c, time.Second).Hold; hold != want.hold {
			t.Errorf("lag %d: hold %s, want %s", lag, hold, want.hold)
		}
	}
}

// Unlocked finds a session that leads and has freed its lock.
func TestUnlockedIsFound(t *testing.T) {
	t.Parallel()
	s, id, first := led(t, time.Second)
	wins(t, s, 0, id, time.Second) // again, without a farewell before
	says(t, s, id, mint.Farewell{Token: first}, mint.Over)
	if got := s.Unlocked(); len(got) > 0 {
		t.Errorf("unlocked after a late farewell: %v, want none", got)
	}
	s.Break(FarewellUnlocksOwn)
	says(t, s, id, mint.Farewell{Token: first}, mint.Over)
	if got := s.Unlocked(); len(got) != 1 {
		t.Errorf("unlocked without the rule: %v, want one scope", got)
	}
}
