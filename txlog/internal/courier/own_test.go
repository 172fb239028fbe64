package courier

import (
	"testing"

	"github.com/conchhq/conch/txlog"
)

// A goal is what it was when it was submitted: its user may go on with the bytes, and it is sent again later.
func TestAGoalIsTheMachinesOwn(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: "node"})
	goal := []byte("pay ann")
	m.Step(0, Carry{Ticket: 1, Goal: txlog.Goal{ID: "g", Body: goal}})
	copy(goal, "pay bob")
	for _, a := range m.Step(0, Leader{Name: "a", Term: 1}) {
		if s, is := a.(Send); is && string(s.Body) == "pay ann" {
			return
		}
	}
	t.Error("what was submitted is not sent")
}

// An answer that nobody waited for is given to nobody whose goal and id only read the same together.
func TestAnAnswerIsOfOneGoal(t *testing.T) {
	t.Parallel()
	l := late{most: 8, by: map[[32]byte]txlog.Answer{}}
	l.keep("ab", []byte("c"), txlog.Answer{Index: 7})
	if _, is := l.find("a", []byte("bc")); is {
		t.Error("goal a has the answer of goal ab")
	}
	if of, is := l.find("ab", []byte("c")); !is || of.Index != 7 {
		t.Errorf("its own asker is told %+v", of)
	}
}

// What was sent once is answered once: a copy of the answer, which the network may make, is none.
func TestATryEndsOnce(t *testing.T) {
	t.Parallel()
	x := tries{first: 1, most: 8, by: map[uint64]try{}}
	n := x.begin(&goal{Goal: txlog.Goal{ID: "g"}}, "a")
	if of, is := x.end(n, "a"); !is || of.ID != "g" {
		t.Fatal("an answer is that of no try")
	}
	if _, is := x.end(n, "a"); is {
		t.Error("it ends a second time")
	}
}
