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
			m.connect()
		}
		return
	}
	// Over a slow line the next heartbeat is due by the time that this one is answered, and so
	// may be a farewell that fails slowly: then the other things go first.
	order := []func(fence.Instant) bool{m.beat, m.part, m.enlist, m.try, m.stay}
	switch {
	case m.last == beating:
		order = []func(fence.Instant) bool{m.part, m.beat, m.enlist, m.try, m.stay}
	case m.deaf > 0 && m.deafAt == now:
		order = []func(fence.Instant) bool{m.beat, m.enlist, m.try, m.part, m.stay}
	}
	for _, do := range order {
		if do(now) {
			m.heardAt = now
			return
		}
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
		if s.campaigns() {
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
	explained := 0
	for i, s := range asked {
		s.firstBid = or(s.firstBid, now)
		bids[i] = Bid{Scope: s.Scope, Lease: s.Lease, Explain: explained < mostExplained && m.explain(now, s)}
		if bids[i].Explain {
			explained++
		}
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
		Block: m.set.LockTimeout, Evict: now.Sub(busy.busySince) > busy.Lease, Explain: m.explain(now, busy),
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
		if len(asked) < min(room, or(s.crowd, room)) && m.bids(s) && s.busySince == 0 && s.polled == polled && now >= m.triedAt(s) {
			asked = append(asked, s)
			room = min(room, or(s.crowd, room))
		}
	}
	return asked
}

// busiest is the seat that has waited longest for acts of the last term.
func (m *Machine) busiest(now fence.Instant) (busy *seat) {
	for _, s := range m.seats {
		if m.bids(s) && s.busySince != 0 && now >= m.triedAt(s) && (busy == nil || s.tryAt < busy.tryAt) {
			busy = s
		}
	}
	return busy
}

// bids reports whether a seat may bid. Its farewell goes first, but one that the mint does
// not take keeps no seat from bidding.
func (m *Machine) bids(s *seat) bool {
	return s.state == waiting && s.campaigns() && m.lists(s) && (s.farewell == nil || s.sayings > 0)
}

// triedAt is when a seat that bids is due.
func (m *Machine) triedAt(s *seat) fence.Instant {
	if s.polled {
		return max(m.pollAt, s.away)
	}
	return max(s.tryAt, s.away)
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
			if m.link.up && idle && m.bids(s) && !m.stop {
				at(max(m.triedAt(s), m.fullTil))
			}
		}
		if s.farewell != nil && m.link.up && idle {
			at(s.sayAt)
			if m.stop && s.sayings > 0 {
				at(m.stopBy)
			}
		}
	}
	if m.link.up && idle && !m.stop && m.strays() {
		at(m.roll.at)
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
