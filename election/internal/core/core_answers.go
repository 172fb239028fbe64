package core

import (
	"maps"
	"slices"
)

// takeAsked takes a request to give a scope up. A fact answers it: see reportFact.
func (c *Core) takeAsked(in Asked) Input {
	if !c.machine.leadsScope(in.Scope, in.Epoch) {
		c.addAction(Answered{Ticket: in.Ticket, Err: ErrNotLeading})
		return nil
	}
	c.drains[in.Scope] = append(c.drains[in.Scope], in.Ticket)
	return in.StepDown
}

// reportFact passes a fact on, tells the gate who leads, and answers those whose scope is given up.
func (c *Core) reportFact(a Report) {
	f := a.Fact
	if f.Kind == Following {
		c.moveGate(f.Scope, Heard{Holder: f.Holder})
	}
	c.addAction(a)
	switch f.Kind {
	case Released:
		c.answerAll(c.drains, f.Scope, nil)
	case Abandoned:
		c.answerAll(c.drains, f.Scope, ErrDrainTimeout)
	case Unsaid, Lost: // Lost: it came too late, or a newer term overtook it
		c.answerAll(c.drains, f.Scope, f.Err)
	}
}

// answerAll answers all tickets of a scope.
func (c *Core) answerAll(tickets map[string][]uint64, scope string, err error) {
	for _, ticket := range tickets[scope] {
		c.addAction(Answered{Ticket: ticket, Err: err})
	}
	delete(tickets, scope)
}

// answerRetires answers the retirements that have nothing left to wait for.
func (c *Core) answerRetires() {
	for _, scope := range slices.Sorted(maps.Keys(c.retires)) {
		if !c.machine.retireWaits(scope) {
			c.answerAll(c.retires, scope, nil)
		}
	}
}
