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

// shut shuts a gate and cancels the role behind it.
func (c *Core) shut(a Shut) {
	c.move(a.Token.Scope, a)
	c.ends[a.Token.Scope] = returning
	c.do(Cancel(a))
}

// returned has the acts drained of a term whose role has returned.
func (c *Core) returned(in Returned) {
	if c.ends[in.Scope] == returning {
		c.ends[in.Scope] = draining
		c.do(Drain(in))
	}
}

// drained ends a term.
func (c *Core) drained(in Drained) Input {
	if c.ends[in.Scope] != draining {
		return nil
	}
	delete(c.ends, in.Scope)
	return Ended(in)
}

// resigned gives a scope up whose role has returned unasked.
func (c *Core) resigned(in Resigned) Input {
	if in.Err != nil {
		return c.stepDown(in.Token.Scope, in.Token.Epoch, fmt.Errorf("%w: %w", ErrResigned, in.Err), EndedByFailure)
	}
	return c.stepDown(in.Token.Scope, in.Token.Epoch, ErrResigned, EndedByRequest)
}

// stalled gives a scope up whose role makes no progress.
func (c *Core) stalled(in Stalled) Input {
	return c.stepDown(in.Token.Scope, in.Token.Epoch, fmt.Errorf("%w for %s", ErrStalled, in.For.Round(time.Millisecond)), EndedByFailure)
}

// stepDown gives up the term of a role, if it is not over.
func (c *Core) stepDown(scope string, epoch int64, why error, how Ending) Input {
	return StepDown{Scope: scope, Epoch: epoch, Why: why, How: how, Timeout: c.machine.set.DrainTimeout}
}
