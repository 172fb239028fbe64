package store

import (
	"errors"
	"fmt"
)

var (
	// ErrSync means that a step could not be written or synced. It may be on the disk or not. Nothing of the store works any
	// more, and this process must not open it again.
	ErrSync = errors.New("the store could not write, and what is on the disk is unknown")
	// ErrDamaged means that what is on the disk is not what was written. The store never votes again under its id.
	ErrDamaged = errors.New("the store is damaged")
	// ErrUnfit means that what is on the disk is what was written, and this program does not come to the state that the log says.
	// Either another version has another state machine, or memory is wrong, now or when it was written. The store must stay as it
	// is: if all members run such a version, these are all copies that there are.
	ErrUnfit = errors.New("the store is whole, and what it has does not lead to the state that the log says")
	// ErrHeld means that another process uses the store.
	ErrHeld = errors.New("another process uses the store")
	// ErrGone means that records, slots or a snapshot are not here: dropped, or not there yet.
	ErrGone = errors.New("it is not in the store")
	// ErrStep means that a step does not fit what is here, or breaks a limit. Nothing of it was stored.
	ErrStep = errors.New("the step does not fit the store")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
