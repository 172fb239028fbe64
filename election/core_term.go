package election

import (
	"fmt"
	"time"
)

// The end of a term, in the order that may not change: its gate shuts (Shut), its role is cancelled (Cancel) and returns
// (Returned), its counted acts end and the answers to outside callers expire (Drain, Drained). Only then the machine
// hears of it (Ended), marks the scope released, notifies and unlocks (Release).

// stage says what the end of a term waits for.
type stage uint8

const (
	returning stage = iota + 1 // its role returns
	draining                   // its acts end, and the answers to outside callers expire
)

// shutGate shuts a gate and cancels the role behind it.
func (c *Core) shutGate(a Shut) {
	c.moveGate(a.Token.Scope, a)
	c.ends[a.Token.Scope] = returning
	c.addAction(Cancel(a))
}

// takeReturned has the acts drained of a term whose role has returned.
func (c *Core) takeReturned(in Returned) {
	if c.ends[in.Scope] == returning {
		c.ends[in.Scope] = draining
		c.addAction(Drain(in))
	}
}

// takeDrained ends a term.
func (c *Core) takeDrained(in Drained) Input {
	if c.ends[in.Scope] != draining {
		return nil
	}
	delete(c.ends, in.Scope)
	return Ended(in)
}

// takeResigned gives a scope up whose role has returned unasked.
func (c *Core) takeResigned(in Resigned) Input {
	if in.Err != nil {
		return c.giveTermUp(in.Token.Scope, in.Token.Epoch, fmt.Errorf("%w: %w", ErrResigned, in.Err), EndedByFailure)
	}
	return c.giveTermUp(in.Token.Scope, in.Token.Epoch, ErrResigned, EndedByRequest)
}

// takeStalled gives a scope up whose role makes no progress.
func (c *Core) takeStalled(in Stalled) Input {
	return c.giveTermUp(in.Token.Scope, in.Token.Epoch, fmt.Errorf("%w for %s", ErrStalled, in.For.Round(time.Millisecond)), EndedByFailure)
}

// giveTermUp gives up the term of a role, if it is not over.
func (c *Core) giveTermUp(scope string, epoch int64, why error, how Ending) Input {
	return StepDown{Scope: scope, Epoch: epoch, Why: why, How: how, Timeout: c.machine.set.DrainTimeout}
}
