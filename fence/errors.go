package fence

import (
	"errors"
	"fmt"
)

// ErrShut is what a gate answers while its door is not open: this process does
// not lead now. The act did not happen. Retrying here is pointless until the
// gate opens again; the holder, if known, is in [ShutError].
var ErrShut = errors.New("gate shut: not the leader")

// ErrStale is what a resource answers to a token that is not the current one:
// somebody else leads by now. The act did not happen and never will under this
// token.
var ErrStale = errors.New("stale leadership: the token is no longer the current one")

// ShutError answers which door of which scope was shut, why, and who leads.
// errors.Is(err, ErrShut) holds for it (requirement S17).
type ShutError struct {
	Scope  string
	Door   Door
	Holder string // who leads, as last heard; empty if unknown
	Why    error  // what shut the gate; nil if this process never led
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

// Is makes every ShutError an [ErrShut].
func (e *ShutError) Is(target error) bool { return target == ErrShut }

// Unwrap gives what shut the gate.
func (e *ShutError) Unwrap() error { return e.Why }

// Reasons that a gate gives of its own accord, inside a [ShutError].
var (
	ErrLate    = errors.New("no heartbeat succeeded in time")
	ErrHolding = errors.New("the predecessor's gate may still be open, waiting it out")
	ErrTooLong = errors.New("the act may take longer than the gate stays open")
)
