package core

import (
	"errors"
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// A leader that waits for its disk takes exactly as many goals as it has room for: so many of its own users, a share of each other node's, and
// none beyond that for any asker. What it has taken is executed, and then there is as much room again.
func TestTheLeadersRoom(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	for range 100 {
		l.now += Round
		l.step(Tick{})
	}
	if !l.core.leads {
		t.Fatal("it does not lead")
	}
	for turn := range 2 {
		var all Batch
		for i := range 1000 { // of which the courier keeps what finds no room
			all = append(all, UserGoal{Ticket: uint64(10_000*turn + i + 1), Goal: txlog.Goal{ID: fmt.Sprint("own ", turn, i), Body: []byte("a")}})
		}
		for _, node := range []string{"n2", "n3", "n4"} {
			for i := range share + 5 {
				all = append(all, Received{From: node, Body: wire.GoalSent{Try: uint64(10_000*turn + i + 1), Goal: txlog.Goal{ID: fmt.Sprint(node, turn, i), Body: []byte("a")}}})
			}
		}
		out := l.core.Step(l.now, all)
		refused := map[string]int{}
		for _, a := range out.Acts {
			if s, is := a.(Send); is {
				if answer, is := s.Body.(wire.GoalDone); is && errors.Is(answer.Err, txlog.ErrTooMany) {
					refused[s.To]++
				}
			}
		}
		if n := len(l.core.tickets); n != own+2*share || l.core.crowd["n1"] != own || refused["n2"] != 5 || refused["n3"] != 5 || refused["n4"] != share+5 {
			t.Errorf("turn %d: %d goals are taken, %v of each node, and refused are %v", turn, n, l.core.crowd, refused)
		}
		l.does(out)
		for range 300 { // the courier's goals come again, and again
			l.now += Round
			l.step(Tick{})
		}
		if len(l.core.tickets) > 0 || l.core.Status().Goals.Pending > 0 {
			t.Errorf("turn %d: %d goals wait, and %d of its own users", turn, len(l.core.tickets), l.core.Status().Goals.Pending)
		}
	}
}

// A node's share is free again when it was answered.
func TestAShareIsFreeAgain(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	for range roomy {
		l.core.newTicket(asker{node: "n2", try: 1})
	}
	if !l.core.crowds("n2") || l.core.crowds("n3") || l.core.crowds("n1") {
		t.Error("n2 alone has more than its share")
	}
	for ticket := range uint64(roomy - share + 1) {
		l.core.forget(ticket + 1)
	}
	for range roomy {
		l.core.newTicket(asker{node: "n3", try: 1})
	}
	if l.core.crowds("n2") || !l.core.crowds("n3") {
		t.Error("n3 alone has more than its share")
	}
}
