package pending

import (
	"errors"
	"fmt"
)

var (
	// ErrConflict means that the idempotency key belongs to an intent with another call, or other [Terms].
	ErrConflict = errors.New("this idempotency key was already used for another call")
	// ErrOvertaken means that an intent was cancelled, perhaps even archived, or got a slot
	// between the read of the queue and the write. Nothing was written.
	ErrOvertaken = errors.New("an intent no longer waits for a slot")
	// ErrNotFound means that there is no such intent.
	ErrNotFound = errors.New("no such transaction")
	// ErrShared means that Config.SharedKey is set, and that the chain lets accounts begin anew (chain.Description.Lives).
	ErrShared = errors.New("an account that can cease to exist and begin anew cannot share its key")
	// ErrNoLife means that the life of an account which is meant is not its newest one.
	ErrNoLife = errors.New("it is not the newest life of the account")
	// ErrBusy means that too many callers wait for the store already. Nothing was stored.
	ErrBusy = errors.New("too many requests are already waiting for the database")
)

// PlaceError says which of several intents is refused, so that none was stored.
type PlaceError struct {
	Place int // counted from 0
	Err   error
}

func (e *PlaceError) Error() string { return fmt.Sprintf("number %d: %v", e.Place+1, e.Err) }

// Unwrap returns why.
func (e *PlaceError) Unwrap() error { return e.Err }

// heldError says why an intent cannot be signed now, and names it, so that it can be cancelled.
type heldError struct {
	intent ID
	why    error
}

func (e *heldError) Error() string {
	id := e.intent
	return fmt.Sprintf("transaction %x-%x-%x-%x-%x: %v", id[:4], id[4:6], id[6:8], id[8:10], id[10:], e.why)
}

func (e *heldError) Unwrap() error { return e.why }
