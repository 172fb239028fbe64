package fence

import (
	"errors"
	"fmt"
)

// ErrShut means that the door of the gate is not open. The act did not happen. Do not
// try again until the gate opens; [ShutError] names the holder if it is known.
var ErrShut = errors.New("gate shut: not the leader")

// ErrStale means that a resource refused a token because it is not the current one: the
// leadership is over. The act did not happen and never will under this token.
var ErrStale = errors.New("stale leadership: the token is no longer the current one")

// ShutError says which door of which scope is shut, why, and which process leads.
// errors.Is(err, ErrShut) is true for it (requirement S17).
type ShutError struct {
	Scope  string
	Door   Door
	Holder string // last known holder; empty if unknown
	Why    error  // why the door is shut; nil if this process never led
}

func (e *ShutError) Error() string {
	s := fmt.Sprintf("the %s door of scope %q is shut: this process is not its leader", e.Door, e.Scope)
	if e.Holder != "" {
		s += fmt.Sprintf(" (%s is, as last heard)", e.Holder)
	}
	if e.Why != nil {
		s += ": " + e.Why.Error()
	}
	return s
}

// Is reports whether target is [ErrShut].
func (e *ShutError) Is(target error) bool { return target == ErrShut }

// Unwrap returns why the door is shut.
func (e *ShutError) Unwrap() error { return e.Why }

// The reasons in a [ShutError] that the gate itself finds.
var (
	// ErrLate means that the deadline has passed; the next successful heartbeat moves it.
	ErrLate = errors.New("no heartbeat succeeded in time")
	// ErrHolding means that the predecessor's gate is not yet known to be shut.
	ErrHolding = errors.New("the predecessor's gate may still be open, waiting it out")
	// ErrTooLong means that the act might not end before the door shuts.
	ErrTooLong = errors.New("the act may take longer than the gate stays open")
)
