package sequencer

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/sequencer/internal/core"
)

var (
	// ErrContract means that the node is no member of such a contract.
	ErrContract = errors.New("no such contract at this node")
	// ErrConflict means that the key was used before, for something else.
	ErrConflict = core.ErrConflict
	// ErrBusy means that too much waits for the contract, and that nothing was done.
	ErrBusy = errors.New("too much waits for the contract")
	// ErrSlow means that the node did not answer in time. What was asked for may be done.
	ErrSlow = errors.New("the node did not answer in time")
	// ErrStopped means that the node does not run any more. What it has accepted goes on after its next start.
	ErrStopped = errors.New("the node is stopped")
	// ErrOver means that the store takes no write of this start of the node any more: another start has begun, elsewhere or
	// here, or the rows are not the node's. What was stored goes on there.
	ErrOver = errors.New("this start of the node is over")
)

// RequestError means that the domain of the contract does not take what a user asks for. Nothing was stored.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }

func (e *RequestError) Unwrap() error { return e.Err }

// UnreadError means that the node could not read a contract in time, so that nothing was done: its chain or the store does
// not answer, or the contract is another one. The node goes on trying.
type UnreadError struct{ Contract, Why string }

func (e *UnreadError) Error() string {
	return fmt.Sprintf("the contract %s cannot be read now: %s", e.Contract, e.Why)
}
