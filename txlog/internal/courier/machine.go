package courier

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// Machine has the goals that users of one node wait for. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg     Config
	now     time.Duration
	leader  string // empty: nobody is known
	term    uint64
	members []string
	goals   map[string]*goal
	order   []*goal // in which they came
	tries   tries
	late    late
	tickets int
	turned  time.Duration // when a member's word has changed the leader
	ask     bool          // neighbours are to be asked for heads, and for what follows the copy
	asks    time.Duration // when they may be asked again

	out []Action
}

// goal is one that some users wait for.
type goal struct {
	txlog.Goal

	waits   []wait
	sends   int
	try     uint64        // the last one
	to      string        // the node that was asked last
	avoid   string        // the node that is not asked next, if there is another one
	turn    int           // of the members, when nobody is known to lead
	open    bool          // an answer of the node that was asked last may come
	timeout time.Duration // when it has waited too long for an answer
	retry   time.Duration // when it is sent again, if it is not open
	pause   time.Duration
}

// wait is one user's.
type wait struct {
	ticket  uint64
	expires time.Duration
}

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	c = c.withDefaults()
	return &Machine{
		cfg: c, goals: map[string]*goal{}, tries: tries{first: 1, most: 4 * uint64(c.MostWaiting), by: map[uint64]try{}},
		late: late{most: c.MostWaiting, by: map[[sha256.Size]byte]txlog.Answer{}},
	}
}

// Step takes an input at an instant of a clock that never goes back, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	switch in := in.(type) {
	case Tick:
		m.tick()
	case Carry:
		m.submit(in)
	case Gone:
		m.gone(in.Ticket)
	case Leader:
		if in.Term == 0 || in.Term >= m.term {
			m.term = max(m.term, in.Term)
			m.follow(in.Name)
		}
	case Members:
		m.members = slices.Clone(in.Names)
	case LeaderSaid:
		m.answered(in)
	case Failed:
		for _, g := range m.order {
			if g.open && g.to == in.To {
				m.later(g, g.to)
			}
		}
	case Applied:
		m.applied(in.Record)
	}
	if m.ask && now >= m.asks {
		m.ask, m.asks = false, now+time.Second
		m.do(Ask{Goals: len(m.order)})
	}
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

func (m *Machine) refuse(ticket uint64, why error) { m.do(Deliver{Ticket: ticket, Err: why}) }

// submit takes a goal, and sends it at once.
func (m *Machine) submit(in Carry) {
	if err := in.Check(); err != nil {
		m.refuse(in.Ticket, err)
		return
	}
	if done, err := m.known(in); done != nil || err != nil {
		if err != nil {
			m.refuse(in.Ticket, err)
		} else {
			m.do(Deliver{Ticket: in.Ticket, Answer: *done})
		}
		return
	}
	g := m.goals[in.ID]
	switch {
	case g != nil && !bytes.Equal(g.Body, in.Body):
		m.refuse(in.Ticket, fmt.Errorf("%w: %q, which waits here", txlog.ErrGoalID, in.ID))
		return
	case m.tickets >= m.cfg.MostWaiting:
		m.refuse(in.Ticket, txlog.ErrTooMany)
		return
	case g == nil:
		g = &goal{Goal: txlog.Goal{ID: in.ID, Body: bytes.Clone(in.Body), Since: in.Since}, turn: len(m.order), timeout: m.now + m.cfg.Timeout}
		m.goals[g.ID] = g
		m.order = append(m.order, g)
		m.send(g)
	}
	g.Since = min(g.Since, in.Since) // both users wait for one execution: the older id decides whether it is too old
	g.waits = append(g.waits, wait{ticket: in.Ticket, expires: m.now + m.cfg.expiry})
	m.tickets++
}

// known looks a goal up in what came before anybody waited for it, and in the own copy.
func (m *Machine) known(in Carry) (*txlog.Answer, error) {
	if answer, is := m.late.find(in.ID, in.Body); is {
		return &answer, nil
	}
	if m.cfg.Known == nil {
		return nil, nil //nolint:nilnil // nothing is known, and nothing is wrong
	}
	known, found, err := m.cfg.Known(in.ID, in.Body, in.Since)
	switch {
	case found:
		return &txlog.Answer{Index: known.Index, Result: known.Result, Fault: known.Fault}, nil
	case errors.Is(err, txlog.ErrGoalID), errors.Is(err, txlog.ErrOld):
		return nil, err
	}
	return nil, nil //nolint:nilnil // the own copy may be behind: it says nothing
}

// end answers all that wait for a goal.
func (m *Machine) end(g *goal, answer txlog.Answer, why error) {
	for _, w := range g.waits {
		m.do(Deliver{Ticket: w.ticket, Answer: answer, Err: why})
	}
	m.drop(g)
}

func (m *Machine) drop(g *goal) {
	m.tickets -= len(g.waits)
	g.waits, g.open = nil, false
	delete(m.goals, g.ID)
	if i := slices.Index(m.order, g); i >= 0 {
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// gone forgets a user. A goal for which nobody waits is not sent again.
func (m *Machine) gone(ticket uint64) {
	for _, g := range m.order {
		before := len(g.waits)
		g.waits = slices.DeleteFunc(g.waits, func(w wait) bool { return w.ticket == ticket })
		m.tickets -= before - len(g.waits)
		if len(g.waits) == 0 {
			m.drop(g)
			return
		}
	}
}
