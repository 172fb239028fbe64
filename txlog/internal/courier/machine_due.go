package courier

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// tick does what time alone does.
func (m *Machine) tick() {
	for _, g := range slices.Clone(m.order) {
		switch m.expire(g); {
		case len(g.waits) == 0:
		case m.now >= g.timeout:
			m.timeOut(g)
		case !g.open && m.now >= g.retry:
			m.send(g)
		}
	}
}

// timeOut has neighbours asked for news, and sends the goal again, to somebody else if there is one (B8). It ends nothing, and
// no index advances by it (B9, never-skip).
func (m *Machine) timeOut(g *goal) {
	m.do(TimedOut{GoalID: g.ID, To: g.to})
	m.ask = true
	g.timeout, g.avoid = m.now+m.cfg.Timeout, g.to
	m.send(g)
}

// expire answers those that have waited for long enough. What becomes of the goal nobody here knows: it has not failed.
func (m *Machine) expire(g *goal) {
	left := slices.DeleteFunc(slices.Clone(g.waits), func(w wait) bool { return m.now >= w.expires })
	for _, w := range g.waits {
		if m.now >= w.expires {
			m.tickets--
			m.refuse(w.ticket, fmt.Errorf("%w; %s was asked last", txlog.ErrUnknown, somebody(g.to)))
		}
	}
	if g.waits = left; len(left) == 0 {
		m.drop(g)
	}
}

func somebody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// Status is what a machine knows.
type Status struct {
	Leader  string // empty: nobody is known
	Term    uint64 // 0: it is not known
	Pending int    // goals that wait (B21)
	Tickets int    // users that wait for them
}

// Status returns what the machine knows now.
func (m *Machine) Status() Status {
	return Status{Leader: m.leader, Term: m.term, Pending: len(m.order), Tickets: m.tickets}
}
