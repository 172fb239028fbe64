package core

import (
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Output is what a core asks for. The order is binding: first the gates move, so that no gate stays
// open while something else is done. Then the state of all scopes is published, if it has changed.
// Then come the actions, in their order.
type Output = step.Output[Move, []Status, Action]

// Move moves the gate of a scope, as How says: Open, Extend, Suspend, Shut or Heard.
type Move struct {
	Scope string
	How   Action
}

// To moves a gate.
func (m Move) To(l *fence.Latch) {
	switch how := m.How.(type) {
	case Open:
		l.Open(how.Token, how.ActFrom, how.Deadline)
	case Extend:
		l.Extend(how.Deadline)
	case Suspend:
		l.Suspend()
	case Shut:
		l.Shut(how.Why)
	case Heard:
		l.Heard(how.Holder)
	}
}

// The moves that are no actions of the [Machine], and what a [Core] makes of its actions.
type (
	// Heard tells a gate who leads, for its messages only.
	Heard struct{ Holder string }
	// Begin begins a term: it starts the role's Fenced function. Resigned may follow from it and
	// from Enter.
	Begin struct{ Token fence.Token }
	// Cancel cancels the role behind a gate that is shut. Returned answers it.
	Cancel struct {
		Token fence.Token
		Why   error
		By    fence.Instant // as in Shut
	}
	// Drain waits until the last act behind a shut gate has ended, and the answers to callers outside
	// the role have expired. Ended answers it.
	Drain struct{ Scope string }
	// Answered answers a caller. Ticket is that of Asked or Retire; 0: nobody waits.
	Answered struct {
		Ticket uint64
		Err    error
	}
	// Await waits for the end of a process, after a pause. Waited answers it, with its Serial.
	Await struct {
		Process int64
		Serial  uint64
		After   time.Duration
	}
	// Unwait cancels a wait.
	Unwait struct{ Serial uint64 }
)

func (Heard) action()    {}
func (Begin) action()    {}
func (Cancel) action()   {}
func (Drain) action()    {}
func (Answered) action() {}
func (Await) action()    {}
func (Unwait) action()   {}

// The inputs of a [Core] that its [Machine] does not take.
type (
	// Asked is a StepDown whose caller waits for the end of the term.
	Asked struct {
		StepDown
		Ticket uint64
	}
	// Resigned says that a function of a role has returned unasked, or that the role has stalled: then
	// Err wraps ErrStalled.
	Resigned struct {
		Token fence.Token
		Err   error
	}
	// Returned says that all functions of a cancelled role have returned.
	Returned struct{ Scope string }
	// Waited answers Await: Gone, or not yet.
	Waited struct {
		Process int64
		Serial  uint64
		Gone    bool
		Err     error
	}
)

func (Resigned) input() {}
func (Returned) input() {}
func (Waited) input()   {}
