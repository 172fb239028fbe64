package coordinator

import (
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// A machine is not idle before its last submissions were reviewed: what waits for its nonce would be sent for nothing. What is lost
// under an earlier grant says nothing about a later one of the same attempt.
func TestTheLastReview(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"head 10", "rows C/1=x:s1:1:30!", "judged 8 alive", "wait 5100ms"} {
		s.tell(line)
	}
	if len(s.reviewed) != 1 {
		t.Fatalf("reviewed are %v, want x", s.reviewed)
	}
	before := s.reviewed[0]
	before.Grant.Delegation = named("an earlier one")
	for _, a := range s.m.Step(s.now, Reviewed{Lost: []ledger.Entry{before}}) {
		if _, is := a.(Submit); is {
			t.Error("the word about an earlier grant has the later one submitted again")
		}
	}
	for _, line := range []string{"block 11 x", "block 12", "block 13"} {
		s.tell(line)
	}
	if s.m.Idle() {
		t.Error("it is idle, and owes a review")
	}
	s.now += time.Minute
	if s.say(s.m.Step(s.now, Tick{})); len(s.reviewed) != 0 || s.m.Idle() {
		t.Errorf("idle %v, while what was reviewed about %v is not answered", s.m.Idle(), s.reviewed)
	}
	if s.m.Step(s.now, Reviewed{}); !s.m.Idle() {
		t.Error("it is not idle, and there is nothing left to do")
	}
}
