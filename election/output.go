package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Output is what a core asks for. The order is binding: first the gates move, so that no gate stays
// open while something else is done. Then the snapshot is published, if it has Changed. Then come the
// acts, in their order.
type Output struct {
	Moves   []Move
	Changed bool
	Acts    []Action
}

// Move moves a gate: Open, Extend, Suspend, Shut or Heard.
type Move interface {
	Action
	Gate() string      // the scope of the gate
	To(l *fence.Latch) // moves it
}

// The moves that are no actions of the [Machine], and the acts that a [Core] makes of its actions.
type (
	// Heard tells a gate who leads, for its messages only.
	Heard struct{ Scope, Holder string }
	// Begin begins a term: it starts the role's Fenced function. Resigned and Stalled may follow from
	// it and from Enter.
	Begin struct{ Token fence.Token }
	// Cancel cancels the role behind a gate that is shut. Returned answers it.
	Cancel struct {
		Token fence.Token
		Why   error
		By    fence.Instant // as in Shut
	}
	// Drain waits until the last act behind a shut gate has ended, and the answers to callers outside
	// the role have expired. Drained answers it.
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
	// Resigned says that a function of a role has returned unasked.
	Resigned struct {
		Token fence.Token
		Err   error
	}
	// Stalled says that a role has made no progress for too long.
	Stalled struct {
		Token fence.Token
		For   time.Duration
	}
	// Returned says that all functions of a cancelled role have returned.
	Returned struct{ Scope string }
	// Drained answers Drain.
	Drained struct{ Scope string }
	// Waited answers Await: Gone, or not yet.
	Waited struct {
		Process int64
		Serial  uint64
		Gone    bool
		Err     error
	}
)

func (Resigned) input() {}
func (Stalled) input()  {}
func (Returned) input() {}
func (Drained) input()  {}
func (Waited) input()   {}

// Gate returns the scope.
func (a Open) Gate() string { return a.Token.Scope }

// Gate returns the scope.
func (a Extend) Gate() string { return a.Scope }

// Gate returns the scope.
func (a Suspend) Gate() string { return a.Scope }

// Gate returns the scope.
func (a Shut) Gate() string { return a.Token.Scope }

// Gate returns the scope.
func (a Heard) Gate() string { return a.Scope }

// To opens the gate.
func (a Open) To(l *fence.Latch) { l.Open(a.Token, a.ActFrom, a.Deadline) }

// To moves the gate's deadline.
func (a Extend) To(l *fence.Latch) { l.Extend(a.Deadline) }

// To shuts the gate for a while.
func (a Suspend) To(l *fence.Latch) { l.Suspend() }

// To shuts the gate for the rest of the term.
func (a Shut) To(l *fence.Latch) { l.Shut(a.Why) }

// To tells the gate who leads.
func (a Heard) To(l *fence.Latch) { l.Heard(a.Holder) }
