//go:build unix

package keeper

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// tree is the command and everything that descends from it.
type tree interface {
	// start starts the command and returns its process number.
	start() (int, error)
	// signal sends a signal to the command's process group.
	signal(sig syscall.Signal)
	// sweep sends a signal to every descendant that can be found, and returns how
	// many of them were met for the first time.
	sweep(sig syscall.Signal) (fresh int)
}

// loop feeds the machine and performs its actions.
type loop struct {
	machine *Machine
	tree    tree
	orders  *step.Inbox[Input]
	reap    func() []Input         // reaps children; called after each wake-up
	awake   step.Wake              // a child may have ended, or the alarm rang
	alarm   func(at fence.Instant) // sets the alarm; 0: never
	tell    func(Report)
}

var errOver = errors.New("nothing is left to keep")

// run returns when nothing is left to keep. The alarm is none of its timers, which stand while the machine is suspended.
func (l *loop) run() {
	defer l.orders.Close()
	_ = step.Hear(context.Background(), step.Loop[Input]{
		From: l.orders,
		Wait: func() (time.Duration, bool) { return 0, false },
		Feed: func(all []Input) error {
			if slices.ContainsFunc(all, l.take) {
				return errOver
			}
			l.alarm(l.machine.Next())
			return nil
		},
	}, l.awake, func(struct{}) Input { return Tick{} })
}

// take takes an order, or a Tick for a wake-up.
func (l *loop) take(in Input) (over bool) {
	if _, woken := in.(Tick); woken {
		return l.feed(l.reap()...) || l.catchUp() || l.feed(Tick{})
	}
	return l.feed(in)
}

// catchUp takes the orders that are there already when the alarm rings. A keeper that was stopped or starved for a moment
// finds both at once, and conch, which was not late, would lose its command.
func (l *loop) catchUp() (over bool) {
	if !l.machine.Late(fence.Boottime()) {
		return false
	}
	enough := time.After(l.machine.set.Grace / 16)
	for waits := true; waits && !over && l.machine.Late(fence.Boottime()); {
		select {
		case <-l.orders.Ready():
		case <-enough:
			waits = false // what has come by now counts: it may be this process that was starved
		}
		for _, in := range l.orders.Take() {
			over = over || l.feed(in)
		}
	}
	return over
}

// feed gives the machine the inputs and the answers to its actions. It reports whether it has quit.
func (l *loop) feed(inputs ...Input) (over bool) {
	for len(inputs) > 0 {
		in := inputs[0]
		inputs = inputs[1:]
		for _, a := range l.machine.Step(fence.Boottime(), in) {
			switch a := a.(type) {
			case Start:
				inputs = append(inputs, l.start())
			case Send:
				l.tree.signal(syscall.Signal(a.Number))
			case Freeze:
				inputs = append(inputs, Swept{Fresh: l.tree.sweep(syscall.SIGSTOP)})
			case KillAll:
				// Reap first: if the tree is empty now, there is no next round.
				fresh := l.tree.sweep(syscall.SIGKILL)
				inputs = append(append(inputs, l.reap()...), Swept{Fresh: fresh})
			case Tell:
				l.tell(a.Report)
			case Quit:
				return true
			}
		}
	}
	return false
}

func (l *loop) start() Input {
	pid, err := l.tree.start()
	if err != nil {
		return Failed{Why: err.Error()}
	}
	return Started{PID: pid}
}
