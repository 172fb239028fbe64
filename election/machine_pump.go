package election

import (
	"math"
	"slices"

	"github.com/conchhq/conch/fence"
)

// chore is something that the machine asks the mint for, and when. Each says its due instant
// once: pump does what is due, and Next is the earliest of them.
type chore struct {
	due func(*Machine) fence.Instant
	do  func(*Machine, fence.Instant)
}

var (
	leave   = chore{(*Machine).leaveDue, (*Machine).leave}
	connect = chore{(*Machine).connectDue, (*Machine).connect}
	renew   = chore{(*Machine).beatDue, (*Machine).beat}
	part    = chore{(*Machine).partDue, (*Machine).part}
	enlist  = chore{(*Machine).enlistDue, (*Machine).enlist}
	bid     = chore{(*Machine).bidDue, (*Machine).bid}
	stay    = chore{(*Machine).stayDue, (*Machine).stay}
)

// never is after every instant.
const never = fence.Instant(math.MaxInt64)

// pump asks the mint for the next thing, if nothing is being asked.
func (m *Machine) pump(now fence.Instant) {
	if m.asking != nothing {
		return
	}
	for _, c := range m.chores(now) {
		if now >= c.due(m) {
			m.heardAt = now
			c.do(m, now)
			return
		}
	}
}

// chores are in the order of their urgency. On a slow line the next heartbeat is due by the
// time that this one is answered, and so may be a farewell that fails slowly: then the
// others go first.
func (m *Machine) chores(now fence.Instant) []chore {
	switch {
	case m.last == beating:
		return []chore{leave, connect, part, renew, enlist, bid, stay}
	case m.deaf > 0 && m.deafAt == now:
		return []chore{leave, connect, renew, enlist, bid, part, stay}
	}
	return []chore{leave, connect, renew, part, enlist, bid, stay}
}

// Next is when Step wants to be called with a Tick if nothing else happens
// before; 0 means never.
func (m *Machine) Next() fence.Instant {
	if m.over {
		return 0
	}
	next := never
	for _, s := range m.seats {
		next = min(next, m.seatDue(s))
	}
	if m.asking == nothing {
		for _, c := range m.chores(0) {
			next = min(next, c.due(m))
		}
	}
	if next == never {
		return 0
	}
	return max(next, 1)
}

// seatDue is when time alone changes a seat; see pass.
func (m *Machine) seatDue(s *seat) fence.Instant {
	due := never
	switch s.state {
	case leading:
		if !s.late {
			due = s.deadline
			if !s.entered {
				due = min(due, s.actFrom)
			}
		}
	case closing:
		due = or(s.drainBy, never)
	case waiting:
	}
	if m.stop && s.farewell != nil && s.sayings > 0 && m.link.up && m.asking == nothing {
		due = min(due, m.stopBy)
	}
	return due
}

func (m *Machine) leaveDue() fence.Instant {
	switch {
	case !m.stop || !m.settled():
		return never
	case !m.link.up:
		return 0
	}
	return min(m.leaveAt, m.stopBy)
}

// settled reports whether nothing is led, and nothing more can be said to the mint.
func (m *Machine) settled() bool {
	return !slices.ContainsFunc(m.seats, func(s *seat) bool {
		return s.state == leading || s.state == closing && !s.abandoned || s.farewell != nil && m.link.up
	})
}

func (m *Machine) leave(fence.Instant) {
	m.over = true
	if m.link.up {
		m.do(Disconnect{})
	}
	m.do(Done{})
}

func (m *Machine) connectDue() fence.Instant {
	if m.link.up || m.stop || !slices.ContainsFunc(m.seats, (*seat).campaigns) {
		return never
	}
	return m.link.retryAt
}

// renews reports whether there are terms to renew.
func (m *Machine) renews() bool { return slices.ContainsFunc(m.seats, (*seat).renewed) }

// renewed reports whether heartbeats renew the seat's term: it leads, or lets its acts end.
func (s *seat) renewed() bool { return s.state == leading || s.draining }

func (m *Machine) beatDue() fence.Instant {
	if !m.link.up || !m.renews() {
		return never
	}
	return m.beatAt
}

// beat renews all terms in one go.
func (m *Machine) beat(now fence.Instant) {
	var pulses []Pulse
	var asked []*seat
	for _, s := range m.seats {
		if s.renewed() {
			s.settling = s.alone(now) && !s.settled
			pulses = append(pulses, Pulse{Token: s.token, Settle: s.settling})
			asked = append(asked, s)
		}
	}
	m.beatAt = now.Add(m.jitter(m.set.Heartbeat))
	m.ask(beating, asked, Beat{Pulses: pulses})
}

func (m *Machine) stayDue() fence.Instant {
	if !m.link.up || m.renews() {
		return never
	}
	return m.heardAt.Add(m.set.Lease / 3)
}

// stay keeps the session from idling away, which the mint would take for death, while there
// is no term to renew.
func (m *Machine) stay(fence.Instant) { m.ask(beating, nil, Beat{}) }

func (m *Machine) ask(r request, asked []*seat, a Action) {
	m.asking, m.asked, m.last = r, asked, r
	m.do(a)
}
