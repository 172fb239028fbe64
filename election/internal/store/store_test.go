package store

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
)

// Found by the simulator: the jumps of several failovers must add up to the same on every
// path, or a standby that lags behind all of them mints an epoch again.
func TestJumpsAddUpToTheSameOnEveryPath(t *testing.T) {
	t.Parallel()
	s := New()
	bid := func() int64 {
		id := s.Open(0, mint.Candidate{ID: "a", Lease: time.Second, Takeover: mint.Strict}, SessionLocks)
		r, err := s.Try(0, id, []mint.Bid{{Scope: "s", Lease: time.Second}})
		if err != nil || r[0].Outcome != mint.Won {
			t.Fatalf("bid: %+v, %v; want Won", r, err)
		}
		return r[0].Token.Epoch
	}
	highest := bid()
	for range 4 { // these standbys do not lag
		s.Promote(0)
		epoch := bid()
		if epoch <= highest {
			t.Fatalf("epoch %d after %d, want a higher one", epoch, highest)
		}
		highest = epoch
	}
	s.Promote(4) // this standby lags behind all of them
	if epoch := bid(); epoch <= highest {
		t.Errorf("epoch %d after a lagging failover, want more than %d", epoch, highest)
	}
}

// The precedence after a transfer ends although the database's clock is set back.
func TestCourtesyEndsWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	s := New()
	open := func(now time.Duration, id string) int64 {
		return s.Open(now, mint.Candidate{ID: id, Lease: time.Second, Takeover: mint.Strict}, SessionLocks)
	}
	a := open(time.Hour, "a")
	r, err := s.Try(time.Hour, a, []mint.Bid{{Scope: "s", Lease: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Release(time.Hour, a, []mint.Farewell{{Token: r[0].Token, Released: true, To: "gone"}}); err != nil {
		t.Fatal(err)
	}
	r, err = s.Try(0, open(0, "b"), []mint.Bid{{Scope: "s", Lease: time.Second}})
	if err != nil || r[0].Outcome != mint.Won {
		t.Errorf("bid: %+v, %v; want Won", r, err)
	}
}
