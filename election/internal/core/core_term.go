package core

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/election/mint"
)

// The end of a term, in the order that may not change: its gate shuts (Shut), its role is cancelled (Cancel) and returns
// (Returned), its counted acts end and the answers to outside callers expire (Drain). Only then the machine hears of it
// (Ended), marks the scope released, notifies and unlocks (Release).

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

// takeEnded passes the end of a term on, once.
func (c *Core) takeEnded(in Ended) Input {
	if c.ends[in.Scope] != draining {
		return nil
	}
	delete(c.ends, in.Scope)
	return in
}

// takeResigned gives a scope up whose role has returned unasked or stalled, unless that term is over.
func (c *Core) takeResigned(in Resigned) Input {
	why, how := in.Err, mint.EndedByFailure
	switch {
	case why == nil:
		why, how = ErrResigned, mint.EndedByRequest
	case !errors.Is(why, ErrStalled):
		why = fmt.Errorf("%w: %w", ErrResigned, why)
	}
	return StepDown{Scope: in.Token.Scope, Epoch: in.Token.Epoch, Why: why, How: how, Timeout: c.machine.set.DrainTimeout}
}
