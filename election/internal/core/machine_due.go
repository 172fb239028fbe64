package core

import (
	"cmp"
	"math"

	"github.com/conchhq/conch/fence"
)

// never is after every instant.
const never = fence.Instant(math.MaxInt64)

// passTime does what is due by time alone, and what had to wait for it.
func (m *Machine) passTime(now fence.Instant) {
	if now >= m.dropFarewellsDue() {
		m.dropFarewells()
	}
	for _, s := range m.seats {
		if due, do := s.nextChange(now); now >= due {
			do(m, now, s)
		}
		m.adoptSettings(s)
	}
	m.forgetSeats()
}

// nextChange returns what time alone does to a seat next, and when it is due.
func (s *seat) nextChange(now fence.Instant) (due fence.Instant, do func(*Machine, fence.Instant, *seat)) {
	switch {
	case s.state == leading && s.isLate(): // the gate waits for a heartbeat, not for a time
	case s.state == leading && !s.entered && max(now, s.actFrom) < s.deadline:
		return s.actFrom, (*Machine).enterTerm
	case s.state == leading:
		return s.deadline, (*Machine).expireDeadline
	case s.state == closing && !s.abandoned:
		return s.drainBy, (*Machine).abandonTerm
	}
	return never, nil
}

func (m *Machine) enterTerm(_ fence.Instant, s *seat) {
	s.entered = true
	m.addAction(Enter{Token: s.token})
	m.addReport(Fact{Kind: Entered, Scope: s.Scope, Token: s.token})
}

func (m *Machine) expireDeadline(now fence.Instant, s *seat) {
	m.markLate(now, s, cmp.Or(s.unsure, fence.ErrLate))
}

// Next returns when Step wants a Tick if nothing else happens before; 0 means never.
func (m *Machine) Next() fence.Instant {
	if m.over {
		return 0
	}
	next := never
	for _, s := range m.seats {
		due, _ := s.nextChange(0)
		next = min(next, due)
	}
	if m.asking == nothing {
		next = min(next, m.dropFarewellsDue())
		for _, c := range m.listChores(0) {
			next = min(next, c.due(m))
		}
	}
	if next == never {
		return 0
	}
	return max(next, 1) // an instant of 0 is due, and 0 means never to the caller
}
