package pending

import (
	"errors"
	"fmt"
)

var (
	// ErrConflict says that the key was used before, for another call.
	ErrConflict = errors.New("this idempotency key names another call already")
	// ErrOvertaken says that an intent was cancelled (and may be in the archive by now), or
	// got a slot, between the look at the queue and the write, and that nothing of the write
	// has happened.
	ErrOvertaken = errors.New("an intent waits no more for the slot that it was given")
	// ErrNotFound says that there is no such intent.
	ErrNotFound = errors.New("no such transaction")
	// ErrBusy says that too many wait for the store already, and that nothing was begun.
	ErrBusy = errors.New("too many requests wait for the database already")
)

// heldError is why an intent is not signed for now, and nothing that waits behind it. It
// names the intent: somebody may want to cancel it.
type heldError struct {
	intent ID
	why    error
}

func (e *heldError) Error() string {
	id := e.intent
	return fmt.Sprintf("transaction %x-%x-%x-%x-%x: %v", id[:4], id[4:6], id[6:8], id[8:10], id[10:], e.why)
}

func (e *heldError) Unwrap() error { return e.why }
