package core

import (
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Core is all that an elector decides: the machine, and what joins it to the gates, the roles, the
// callers and the mint. The loop of an elector feeds it, and so does the simulated electorate. It is pure, and
// not safe for concurrent use.
type Core struct {
	machine *Machine
	now     fence.Instant
	ends    map[string]stage    // by scope, how far the end of a shut term has come
	drains  map[string][]uint64 // by scope, the tickets of those who asked to give it up
	retires map[string][]uint64 // by scope, the tickets of those who asked to retire it
	caution string              // the last session's
	waits   map[int64]*awaited  // by process, the waits for its end
	serial  uint64              // of the last wait
	out     Output
	changed bool // the state that Status shows, in this step
}

// Status is the state of one scope; package election says what each field means.
type Status struct {
	Scope   string
	Leading bool
	Token   fence.Token
	Entered bool
	Holder  string
	Unled   fence.Instant
	Why     string
	Unsaid  bool
}

// New returns a core that connects in its first step.
func New(s Settings) *Core {
	return &Core{
		machine: NewMachine(s), ends: map[string]stage{}, drains: map[string][]uint64{}, retires: map[string][]uint64{}, waits: map[int64]*awaited{},
	}
}

// Step takes the inputs that have come by the instant now, in their order, and returns what to do.
func (c *Core) Step(now fence.Instant, all ...Input) Output {
	c.now, c.out, c.changed = now, Output{}, false
	for len(all) > 0 {
		joined := slices.IndexFunc(all, standsAlone)
		switch joined {
		case -1:
			joined = len(all)
		case 0:
			joined = 1
		}
		c.stepMachine(all[:joined])
		all = all[joined:]
	}
	c.endWaits()
	c.answerRetires()
	if c.changed {
		c.out.Writes = [][]Status{c.Snapshot()}
	}
	return c.out
}

// standsAlone reports whether the machine takes an input by itself, since what comes of it depends on what the inputs before it
// have led to.
func standsAlone(in Input) bool {
	switch in.(type) {
	case Tick, Woken, Waited, Returned, Ended, Add, Retire, Rest:
		return false
	}
	return true
}

// stepMachine has the machine take inputs in one step of its own.
func (c *Core) stepMachine(all []Input) {
	var left []Input
	for _, in := range all {
		if in = c.takeInput(in); in != nil {
			left = append(left, in)
		}
	}
	if left == nil {
		return
	}
	for _, a := range c.machine.Step(c.now, left...) {
		c.carryOut(a)
	}
}

// takeInput does the core's part of an input, and returns the machine's; nil if it has none.
func (c *Core) takeInput(in Input) Input {
	switch in := in.(type) {
	case Opened:
		c.reportCaution(in.Caution)
	case Failed:
		if in.Lost {
			c.addAction(Disconnect{})
		}
	case Asked:
		return c.takeAsked(in)
	case Resigned:
		return c.takeResigned(in)
	case Returned:
		c.takeReturned(in)
		return nil
	case Ended:
		return c.takeEnded(in)
	case Waited:
		return c.takeWaited(in)
	case Add:
		c.changed = true
		c.answerAll(c.retires, in.Seat.Scope, nil)
	case Retire:
		c.changed = true
		c.retires[in.Scope] = append(c.retires[in.Scope], in.Ticket)
	}
	return in
}

// carryOut translates an action of the machine.
func (c *Core) carryOut(a Action) {
	switch a.(type) {
	case Extend, Suspend, Beat, Try, Watch, Enlist:
	default: // a heartbeat of ten thousand terms moves as many deadlines and changes nothing else
		c.changed = true
	}
	switch a := a.(type) {
	case Open:
		c.moveGate(a.Token.Scope, a)
		c.addAction(Begin{Token: a.Token})
	case Extend:
		c.moveGate(a.Scope, a)
	case Suspend:
		c.moveGate(a.Scope, a)
	case Shut:
		c.shutGate(a)
	case Watch:
		c.watchProcesses(a.Processes)
	case Report:
		c.reportFact(a)
	default:
		c.addAction(a)
	}
}

func (c *Core) addAction(a Action) { c.out.Acts = append(c.out.Acts, a) }

func (c *Core) moveGate(scope string, how Action) {
	c.out.Gives = append(c.out.Gives, Move{Scope: scope, How: how})
}

// reportCaution reports a session's caution, unless the last session had the same.
func (c *Core) reportCaution(err error) {
	text := ""
	if err != nil {
		if text = err.Error(); text != c.caution {
			c.addAction(Report{Fact: Fact{Kind: Cautioned, Err: err}})
		}
	}
	c.caution = text
}

// Patience returns how long to wait for the answer to a request before the session counts as lost.
// After a lease the mint has ended its side anyway; under Keep it never does.
func (c *Core) Patience(a Action) time.Duration {
	_, opens := a.(Connect)
	switch lease := c.machine.set.Lease; {
	case opens:
		return max(5*time.Second, lease)
	case c.machine.set.Takeover == mint.Keep:
		return max(time.Minute, 10*lease)
	default:
		return lease
	}
}

// Next returns when Step wants a Tick if nothing else happens before; 0 means never.
func (c *Core) Next() fence.Instant {
	next := c.machine.Next()
	if due := c.waitDue(); next == 0 || due < next {
		next = due
	}
	if next == never {
		return 0
	}
	return next
}

// Snapshot returns the state of every scope, sorted by scope.
func (c *Core) Snapshot() []Status {
	all := make([]Status, len(c.machine.seats))
	for i, s := range c.machine.seats {
		all[i] = Status{Scope: s.Scope, Leading: s.state == leading, Holder: s.holder, Unsaid: s.unsaid}
		if s.unledAt != 0 {
			all[i].Unled, all[i].Why = s.ledAt, s.unledWhy
		}
		if s.state == leading {
			all[i].Token, all[i].Entered, all[i].Holder = s.token, s.entered, s.token.Holder
		}
	}
	return all
}

// ExitError returns ErrDrainTimeout if a role is still running when the loop ends.
func (c *Core) ExitError() error {
	if slices.ContainsFunc(c.machine.seats, func(s *seat) bool { return s.state == closing }) {
		return ErrDrainTimeout
	}
	return nil
}
