package coordinator

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q3: a verdict that can still count is needed, so that it is verified; no other is.
func TestWhichEndorsementsAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t) // two of four have to endorse
	s.tell("delegate B d1 0 1 2")
	s.tell("attempts B 1=x:s1:1 2=y:s2:1")
	asked := func(member string) wire.RequestID { return s.asked[keyOf(wire.KindEndorse, ledger.Account(member))] }
	ids := map[string]wire.RequestID{"C": asked("C"), "D": asked("D")}
	needs := func(member string, want ...bool) {
		t.Helper()
		for at, want := range want {
			if got := s.m.Needs(ids[member], at); got != want {
				t.Errorf("of %s, verdict %d is needed: %t, want %t", member, at, got, want)
			}
		}
	}
	needs("C", true, true, false)
	s.tell("verdicts A x y")
	needs("C", true, true, false)
	s.tell("verdicts B x y=conflict")
	needs("C", false, true, false)
	needs("D", false, true, false)
	other := ids["C"]
	other.Incarnation[3]++
	if s.m.Needs(other, 1) {
		t.Error("a verdict for another start is needed")
	}
	s.tell("verdicts C x y")
	needs("C", false, false)
	needs("D", false, false)
}

// Q3: so is a grant for which its attempt waits.
func TestWhichGrantsAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x", "verdicts B x"} {
		s.tell(line)
	}
	id := s.asked[keyOf(wire.KindAskGrant, "B")]
	if !s.m.Needs(id, 0) || s.m.Needs(id, 1) {
		t.Error("the one grant that is waited for is needed, and no other")
	}
	s.tell("grants B 1=x:d1:20")
	if s.m.Needs(id, 0) {
		t.Error("a grant that has come is needed")
	}
}

// A member whose last signature was wrong has all looked at: what is not needed may be the first that is right.
func TestEverySignatureOfAForgerIsNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"aside 1s", "delegate B d1 0 1 2", "attempts B 1=x:s1:1 2=y:s2:1", "forged", "verdicts C x y", "wait 1s"} {
		s.tell(line)
	}
	id := s.asked[keyOf(wire.KindEndorse, "C")]
	s.tell("verdicts A x y")
	s.tell("verdicts B x y")
	if !s.m.Needs(id, 0) || s.m.Needs(id, 2) {
		t.Error("what a member signs is not looked at that has signed wrongly")
	}
	s.tell("verdicts C x y")
	if forges := s.m.Status().Forges; len(forges) > 0 {
		t.Errorf("%v are still said to sign wrongly", forges)
	}
}
