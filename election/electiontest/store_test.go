package electiontest

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election"
)

// Found by the simulator: over several failovers jumps must add up to the same on
// every path, or a last failover to a standby that lagged behind all of them hands
// out an epoch that was given before.
func TestJumpsAddUpToTheSameOnEveryPath(t *testing.T) {
	t.Parallel()
	s := NewStore()
	mint := func() int64 {
		id := s.Open(0, election.Candidate{ID: "a", Lease: time.Second, Takeover: election.Strict}, SessionLocks)
		r, err := s.Try(0, id, []election.Bid{{Scope: "s", Lease: time.Second}})
		if err != nil || r[0].Outcome != election.Won {
			t.Fatalf("%+v, %v", r, err)
		}
		return r[0].Token.Epoch
	}
	highest := mint()
	for range 4 { // each sees all that came before
		s.Promote(0)
		epoch := mint()
		if epoch <= highest {
			t.Fatalf("epoch %d after %d", epoch, highest)
		}
		highest = epoch
	}
	s.Promote(4) // this one saw none of it
	if epoch := mint(); epoch <= highest {
		t.Errorf("epoch %d after a lagging failover, %d was given before", epoch, highest)
	}
}

// A transfer's courtesy ends although the database's clock is set back.
func TestCourtesyEndsWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	s := NewStore()
	open := func(now time.Duration, id string) int64 {
		return s.Open(now, election.Candidate{ID: id, Lease: time.Second, Takeover: election.Strict}, SessionLocks)
	}
	a := open(time.Hour, "a")
	r, err := s.Try(time.Hour, a, []election.Bid{{Scope: "s", Lease: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Release(time.Hour, a, []election.Farewell{{Token: r[0].Token, Released: true, To: "gone"}}); err != nil {
		t.Fatal(err)
	}
	r, err = s.Try(0, open(0, "b"), []election.Bid{{Scope: "s", Lease: time.Second}})
	if err != nil || r[0].Outcome != election.Won {
		t.Errorf("%+v, %v", r, err)
	}
}
