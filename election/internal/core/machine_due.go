package core

import (
	"cmp"
	"math"

	"github.com/conchhq/conch/fence"
)

// never is after every instant.
const never = fence.Instant(math.MaxInt64)

// pass does what is due by time alone, and what had to wait for it.
func (m *Machine) pass(now fence.Instant) {
	if now >= m.giveUpDue() {
		m.giveUp()
	}
	for _, s := range m.seats {
		if due, do := s.change(now); now >= due {
			do(m, now, s)
		}
		m.adopt(s)
	}
	m.forget()
}

// change returns what time alone does to a seat next, and when it is due.
func (s *seat) change(now fence.Instant) (due fence.Instant, do func(*Machine, fence.Instant, *seat)) {
	switch {
	case s.state == leading && s.late(): // the gate waits for a heartbeat, not for a time
	case s.state == leading && !s.entered && max(now, s.actFrom) < s.deadline:
		return s.actFrom, (*Machine).enter
	case s.state == leading:
		return s.deadline, (*Machine).expire
	case s.state == closing && !s.abandoned:
		return s.drainBy, (*Machine).abandon
	}
	return never, nil
}

func (m *Machine) enter(_ fence.Instant, s *seat) {
	s.entered = true
	m.do(Enter{Token: s.token})
	m.report(Fact{Kind: Entered, Scope: s.Scope, Token: s.token})
}

func (m *Machine) expire(now fence.Instant, s *seat) {
	m.markLate(now, s, cmp.Or(s.unsure, fence.ErrLate))
}

// Next returns when Step wants a Tick if nothing else happens before; 0 means never.
func (m *Machine) Next() fence.Instant {
	if m.over {
		return 0
	}
	next := never
	for _, s := range m.seats {
		due, _ := s.change(0)
		next = min(next, due)
	}
	if m.asking == nothing {
		next = min(next, m.giveUpDue())
		for _, c := range m.chores(0) {
			next = min(next, c.due(m))
		}
	}
	if next == never {
		return 0
	}
	return max(next, 1) // an instant of 0 is due, and 0 means never to the caller
}
