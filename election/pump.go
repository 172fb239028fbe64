package election

import "github.com/conchhq/conch/fence"

// pump asks the mint for the next thing, if nothing is being asked.
func (m *Machine) pump(now fence.Instant) {
	if m.asking != nothing {
		return
	}
	if m.stop && m.settled() {
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
	switch {
	case m.beat(now), m.part(now), m.try(now):
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

// beat renews all terms in one go. With none to renew it keeps the session from
// idling away, which the mint would take for death.
func (m *Machine) beat(now fence.Instant) bool {
	var pulses []Pulse
	var asked []*seat
	for _, s := range m.seats {
		if s.state == leading || s.draining {
			s.settling = s.entered && !s.settled
			pulses = append(pulses, Pulse{Token: s.token, Settle: s.settling})
			asked = append(asked, s)
		}
	}
	due := now >= m.beatAt
	if len(pulses) == 0 {
		due = now >= m.heardAt.Add(m.set.Lease/3)
	}
	if !due {
		return false
	}
	m.beatAt = now.Add(m.jitter(m.set.Heartbeat))
	m.ask(beating, asked, Beat{Pulses: pulses})
	return true
}

// part says the farewells that are due.
func (m *Machine) part(now fence.Instant) bool {
	if now < m.partAt {
		return false
	}
	var farewells []Farewell
	var asked []*seat
	for _, s := range m.seats {
		if s.farewell != nil {
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

// try bids for all scopes whose time has come. A scope whose fence is busy is
// tried by itself and after all others, since that blocks for a moment.
func (m *Machine) try(now fence.Instant) bool {
	var bids []Bid
	var asked []*seat
	var busy *seat
	for _, s := range m.seats {
		switch {
		case s.state != waiting || s.Never || m.stop || s.farewell != nil || now < s.tryAt:
		case s.busySince != 0:
			if busy == nil || s.tryAt < busy.tryAt {
				busy = s
			}
		default:
			if s.firstBid == 0 {
				s.firstBid = now
			}
			bids, asked = append(bids, Bid{Scope: s.Scope, Lease: s.Lease}), append(asked, s)
		}
	}
	if len(asked) == 0 && busy != nil {
		asked = []*seat{busy}
		bids = []Bid{{
			Scope: busy.Scope, Lease: busy.Lease,
			Block: m.set.LockTimeout, Evict: now.Sub(busy.busySince) > m.set.Lease,
		}}
	}
	if len(asked) == 0 {
		return false
	}
	m.ask(trying, asked, Try{Bids: bids})
	return true
}

func (m *Machine) ask(r request, asked []*seat, a Action) {
	m.asking, m.asked = r, asked
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
			if m.link.up && idle && !s.Never && !m.stop && s.farewell == nil {
				at(s.tryAt)
			}
		}
		if s.farewell != nil && m.link.up && idle {
			at(m.partAt)
		}
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
