package election

import (
	"errors"
	"fmt"
)

// The causes with which a leadership ends, and the errors of a drain. A role tests the cause of its
// context with errors.Is.
var (
	// ErrDeposed means that the mint has a newer term for the scope.
	ErrDeposed = errors.New("deposed: the mint has a newer term")
	// ErrStepDown means that this process was asked to give the scope up.
	ErrStepDown = errors.New("stepping down")
	// errRetired means that a bid won after its scope was retired.
	errRetired = fmt.Errorf("%w: no longer campaigned for", ErrStepDown)
	// ErrStalled means that the role reported no progress for longer than StallAfter.
	ErrStalled = errors.New("the role made no progress")
	// ErrResigned means that the role's function returned.
	ErrResigned = errors.New("the role ended")
	// ErrOverdue means that no heartbeat was in time for two leases, so the scope is given up.
	ErrOverdue = errors.New("no heartbeat was in time for two leases")
	// ErrNotLeading means that this process does not lead the scope with the epoch asked for.
	ErrNotLeading = errors.New("this process does not lead the scope")
	// ErrDrainTimeout means that acts were still under way when the time to drain was up. The
	// scope was given up without the promise that they have ended.
	ErrDrainTimeout = errors.New("acts were still under way when the time to drain was up")
	// ErrUntold means that the scope was given up and the mint may not know it. The elector tries
	// again while it runs; until the mint knows, a successor waits as after a crash.
	ErrUntold = errors.New("the mint could not be told that the scope is given up")
	// ErrUnknownScope means that no role of this elector has the scope.
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

// Unwrap returns Why.
func (e *LostError) Unwrap() error { return e.Why }
