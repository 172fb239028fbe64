package election

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/fence"
)

// The causes with which a leadership ends, and the errors of a drain. A role tests the cause of its
// context with errors.Is.
var (
	// ErrDeposed means that the mint has a newer term for the scope.
	ErrDeposed = core.ErrDeposed
	// ErrStepDown means that this process was asked to give the scope up.
	ErrStepDown = core.ErrStepDown
	// ErrStalled means that the role reported no progress for longer than StallAfter.
	ErrStalled = core.ErrStalled
	// ErrResigned means that the role's function returned.
	ErrResigned = core.ErrResigned
	// ErrOverdue means that no heartbeat was in time for two leases, so the scope is given up.
	ErrOverdue = core.ErrOverdue
	// ErrNotLeading means that this process does not lead the scope with the epoch asked for.
	ErrNotLeading = core.ErrNotLeading
	// ErrDrainTimeout means that acts were still under way when the time to drain was up. The
	// scope was given up without the promise that they have ended.
	ErrDrainTimeout = core.ErrDrainTimeout
	// ErrUntold means that the scope was given up and the mint may not know it. The elector tries
	// again while it runs; until the mint knows, a successor waits as after a crash.
	ErrUntold = core.ErrUntold
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

// lostTerm returns what a role and its gate are told when their term has ended.
func lostTerm(t fence.Token, why error) error {
	return &LostError{Scope: t.Scope, Epoch: t.Epoch, Why: why}
}
