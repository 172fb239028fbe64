//go:build unix

package keeper

import (
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// none is a tree that does what it is asked.
type none struct{ asked []syscall.Signal }

func (n *none) start() (int, error)              { return 1, nil }
func (n *none) signal(sig syscall.Signal)        { n.asked = append(n.asked, sig) }
func (n *none) sweep(syscall.Signal) (fresh int) { return 0 }

// A keeper that was starved for a moment wakes to the alarm of the last deadline and to the next deadline. It does not
// end a command of a conch that was in time, whichever it sees first; and an alarm alone ends the command.
func TestAnAlarmAndTheNextDeadlineAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 30 {
		n, awake, orders := &none{}, step.NewWake(), step.NewInbox[Input]()
		l := &loop{
			machine: NewMachine(Settings{Grace: 200 * time.Millisecond}), tree: n, orders: orders, awake: awake,
			reap: func() []Input { return nil }, alarm: func(fence.Instant) {}, tell: func(Report) {},
		}
		began := fence.Boottime()
		l.feed(Deadline{At: began.Add(time.Hour)})
		l.machine.deadline = began // an hour later
		for _, in := range []Input{Deadline{At: began.Add(time.Millisecond)}, Deadline{At: began.Add(2 * time.Hour)}, Exited{}, Emptied{}} {
			orders.Put(in)
		}
		awake.Ring()
		over := make(chan struct{})
		go func() { l.run(); close(over) }()
		<-over
		if got := len(n.asked); l.machine.cause == Late || got != 1 { // asked once, for what the command has left behind
			t.Fatalf("round %d: the command was ended as %q, and asked to end %d times", round, l.machine.cause, got)
		}
	}
}

// The moment for which a late keeper waits may be over when it comes to look: what was ordered by then counts.
func TestAnOrderThatWaitsWhenTheMomentIsOver(t *testing.T) {
	t.Parallel()
	for range 30 { // a select draws
		n, orders := &none{}, step.NewInbox[Input]()
		l := &loop{
			machine: NewMachine(Settings{}), tree: n, orders: orders, awake: step.NewWake(),
			reap: func() []Input { return nil }, alarm: func(fence.Instant) {}, tell: func(Report) {},
		}
		began := fence.Boottime()
		l.feed(Deadline{At: began.Add(time.Hour)})
		l.machine.deadline = began // an hour later
		orders.Put(Deadline{At: began.Add(2 * time.Hour)})
		if over := l.take(Tick{}); over || l.machine.cause != "" || len(n.asked) > 0 {
			t.Fatalf("the command was ended as %q", l.machine.cause)
		}
	}
}
