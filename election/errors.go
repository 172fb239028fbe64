package election

import (
	"errors"
	"fmt"
)

// Causes with which a leadership ends; find them with errors.Is in the cause of
// a role's context.
var (
	// ErrBarred: the mint refuses this candidate, and will as long as it is as it is.
	ErrBarred = errors.New("the mint refuses this candidate")
	// ErrDeposed: the mint has a newer term for the scope.
	ErrDeposed = errors.New("deposed: the mint has a newer term")
	// ErrStepDown: this process was asked to give the scope up.
	ErrStepDown = errors.New("stepping down")
	// ErrStalled: the role reported no progress for longer than StallAfter.
	ErrStalled = errors.New("the role made no progress")
	// ErrResigned: the role's function returned.
	ErrResigned = errors.New("the role ended")
	// ErrOverdue: for two leases no heartbeat was in time, so the scope was given up for
	// others to try.
	ErrOverdue = errors.New("no heartbeat was in time for two leases")
	// ErrNotLeading: a drain or transfer of a scope that this process does not lead, or
	// not with the epoch that was meant.
	ErrNotLeading = errors.New("this process does not lead the scope")
	// ErrDrainTimeout: acts were still under way when the time to drain was up. The
	// scope was given up without the promise that they have ended.
	ErrDrainTimeout = errors.New("acts were still under way when the time to drain was up")
	// ErrUntold: the scope was given up, and the mint could not be told, or nobody knows
	// whether it was. It is tried again for as long as the elector runs; until it is heard, a
	// successor waits as after a crash.
	ErrUntold = errors.New("the mint could not be told that the scope is given up")
	// ErrUnknownScope: no role of this elector has that scope.
	ErrUnknownScope = errors.New("no role has that scope")
)

// LostError is the cause of a role's context when its leadership has ended.
type LostError struct {
	Scope string
	Epoch int64
	Why   error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("leadership of %q (epoch %d) ended: %v", e.Scope, e.Epoch, e.Why)
}

// Unwrap gives the reason.
func (e *LostError) Unwrap() error { return e.Why }
