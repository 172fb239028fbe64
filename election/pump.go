package election

import (
	"slices"

	"github.com/conchhq/conch/fence"
)

// pump asks the mint for the next thing, if nothing is being asked.
func (m *Machine) pump(now fence.Instant) {
	if m.asking != nothing {
		return
	}
	if m.stop && m.settled() && now >= m.leaves() {
		m.over = true
		if m.link.up {
			m.do(Disconnect{})
		}
		m.do(Done{})
		return
	}
	if !m.link.up {
		if now >= m.link.retryAt && m.wantsLink() {
			m.asking = connecting
			m.do(Connect{})
		}
		return
	}
	beat, part := m.beat, m.part
	if m.last == beating { // over a slow line the next heartbeat is due by now, and always would be
		beat, part = m.part, m.beat
	}
	if beat(now) || part(now) || m.try(now) || m.stay(now) {
		m.heardAt = now
	}
}

// settled: nothing is led, and nothing more can be said to the mint.
func (m *Machine) settled() bool {
	for _, s := range m.seats {
		if s.state == leading || s.state == closing && !s.abandoned || s.farewell != nil && m.link.up {
			return false
		}
	}
	return true
}

// leaves is when a stopped machine that has settled lets its session go.
func (m *Machine) leaves() fence.Instant {
	if !m.link.up {
		return 0
	}
	return min(m.leaveAt, m.stopBy)
}

func (m *Machine) wantsLink() bool {
	if m.stop {
		return false
	}
	for _, s := range m.seats {
		if !s.Never {
			return true
		}
	}
	return false
}

// beat renews all terms in one go.
func (m *Machine) beat(now fence.Instant) bool {
	if now < m.beatAt || !m.renews() {
		return false
	}
	var pulses []Pulse
	var asked []*seat
	for _, s := range m.seats {
		if s.state == leading || s.draining {
			s.settling = s.alone(now) && !s.settled
			pulses = append(pulses, Pulse{Token: s.token, Settle: s.settling})
			asked = append(asked, s)
		}
	}
	m.beatAt = now.Add(m.jitter(m.set.Heartbeat))
	m.ask(beating, asked, Beat{Pulses: pulses})
	return true
}

// stay keeps the session from idling away, which the mint would take for death: with no
// term to renew, and nothing else to say.
func (m *Machine) stay(now fence.Instant) bool {
	if now < m.heardAt.Add(m.set.Lease/3) || m.renews() {
		return false
	}
	m.ask(beating, nil, Beat{})
	return true
}

// renews: there are terms to renew.
func (m *Machine) renews() bool {
	return slices.ContainsFunc(m.seats, func(s *seat) bool { return s.state == leading || s.draining })
}

// part says the farewells that are due.
func (m *Machine) part(now fence.Instant) bool {
	if now < m.partAt {
		return false
	}
	var farewells []Farewell
	var asked []*seat
	for _, s := range m.seats {
		if s.farewell != nil && len(asked) < m.set.Batch {
			s.saying = s.farewell
			farewells = append(farewells, *s.farewell)
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 {
		return false
	}
	m.ask(parting, asked, Release{Farewells: farewells})
	return true
}

// try bids for the scopes whose time has come, a batch at a time, so that heartbeats
// come in between. A scope whose fence is busy is tried by itself and after all
// others, since that blocks for a moment.
func (m *Machine) try(now fence.Instant) bool {
	if m.stop || now < m.fullTil {
		return false
	}
	asked := m.due(now, nil, false)
	asked = m.due(now, asked, true) // what nobody has woken comes last
	if len(asked) == m.set.Batch {
		m.from = (asked[len(asked)-1].place + 1) % len(m.seats)
	}
	bids := make([]Bid, len(asked))
	for i, s := range asked {
		s.firstBid = or(s.firstBid, now)
		bids[i] = Bid{Scope: s.Scope, Lease: s.Lease}
	}
	if len(asked) > 0 {
		m.ask(trying, asked, Try{Bids: bids})
		return true
	}
	busy := m.busiest(now)
	if busy == nil {
		return false
	}
	m.ask(trying, []*seat{busy}, Try{Bids: []Bid{{
		Scope: busy.Scope, Lease: busy.Lease,
		Block: m.set.LockTimeout, Evict: now.Sub(busy.busySince) > m.set.Lease,
	}}})
	return true
}

// due adds the seats to bid for, as far as they fit, from where the last batch ended.
func (m *Machine) due(now fence.Instant, asked []*seat, polled bool) []*seat {
	room := m.set.Batch
	for _, s := range asked {
		room = min(room, or(s.crowd, room))
	}
	for i := range m.seats {
		s := m.seats[(m.from+i)%len(m.seats)]
		if len(asked) < min(room, or(s.crowd, room)) && s.bids() && s.busySince == 0 && s.polled == polled && now >= m.triedAt(s) {
			asked = append(asked, s)
			room = min(room, or(s.crowd, room))
		}
	}
	return asked
}

// busiest is the seat that has waited longest for acts of the last term.
func (m *Machine) busiest(now fence.Instant) (busy *seat) {
	for _, s := range m.seats {
		if s.bids() && s.busySince != 0 && now >= s.tryAt && (busy == nil || s.tryAt < busy.tryAt) {
			busy = s
		}
	}
	return busy
}

func (s *seat) bids() bool { return s.state == waiting && !s.Never && s.farewell == nil }

// triedAt is when a seat that bids is due.
func (m *Machine) triedAt(s *seat) fence.Instant {
	if s.polled {
		return m.pollAt
	}
	return s.tryAt
}

func (m *Machine) ask(r request, asked []*seat, a Action) {
	m.asking, m.asked, m.last = r, asked, r
	m.do(a)
}

// Next is when Step wants to be called with a Tick if nothing else happens
// before; 0 means never.
func (m *Machine) Next() fence.Instant {
	var next fence.Instant
	at := func(i fence.Instant) {
		if next == 0 || i < next {
			next = max(i, 1)
		}
	}
	if m.over {
		return 0
	}
	idle := m.asking == nothing
	if !m.link.up && idle && m.wantsLink() {
		at(m.link.retryAt)
	}
	led := false
	for _, s := range m.seats {
		switch s.state {
		case leading:
			led = true
			if !s.entered && !s.late {
				at(s.actFrom)
			}
			if !s.late {
				at(s.deadline)
			}
		case closing:
			led = led || s.draining
			if s.drainBy != 0 {
				at(s.drainBy)
			}
		case waiting:
			if m.link.up && idle && s.bids() && !m.stop {
				at(max(m.triedAt(s), m.fullTil))
			}
		}
		if s.farewell != nil && m.link.up && idle {
			at(m.partAt)
		}
	}
	if m.stop && idle && m.settled() {
		at(m.leaves())
	}
	if m.link.up && idle {
		if led {
			at(m.beatAt)
		} else {
			at(m.heardAt.Add(m.set.Lease / 3))
		}
	}
	return next
}
