package spray

import "slices"

// settle asks for the connections that are needed, gives up those that nobody needs, and says who is a neighbour.
func (m *Machine) settle() {
	if m.left {
		return
	}
	m.fill()
	for i := 0; i < len(m.peers); i++ {
		p := m.peers[i]
		needed := m.needs(p)
		if needed || p.holds > 0 {
			p.idle = 0
		}
		switch {
		case p.state == away && needed:
			p.state = dialling
			if m.unturn(p.Name) {
				m.do(Disconnect{Peer: p.Name})
			}
			m.do(Connect{Peer: p.Peer})
		case p.state == away, p.state == dialling && !needed, p.idle >= grace:
			if p.state != away {
				m.do(Disconnect{Peer: p.Name})
			}
			m.remove(p)
			i--
			continue
		case p.state == up && (!p.greeted || p.told != needed):
			p.greeted, p.told = true, needed
			m.send(p.Name, Hello{Address: m.cfg.Self.Address, Incarnation: m.cfg.Incarnation, Holds: needed})
		}
		switch {
		case p.state == up && !p.live:
			m.do(Gained{Peer: p.Name})
		case p.state != up && p.live:
			m.do(Lost{Peer: p.Name})
		}
		p.live = p.state == up
	}
	m.speak()
}

// fill connects to remembered peers while there are too few neighbours, and keeps connections that nobody needs.
func (m *Machine) fill() {
	if m.tick == 0 {
		return
	}
	have := 0
	var idle, fit []Peer
	for _, p := range m.peers {
		if p.holds > 0 || m.needs(p) {
			if have++; have >= m.cfg.floor {
				return
			}
		} else if p.state == up {
			idle = append(idle, p.Peer)
		}
	}
	for _, p := range m.cache {
		if m.find(p.Name) == nil {
			fit = append(fit, p)
		}
	}
	for ; have < m.cfg.floor && len(fit)+len(idle) > 0; have++ {
		if len(fit) == 0 {
			fit, idle = idle, nil
		}
		at := m.chance.Below(len(fit))
		m.ensure(fit[at]).spare = true
		fit = slices.Delete(fit, at, at+1)
	}
}

// thin gives one spare connection up, if there are neighbours enough without it. There are two more than the floor, so
// that connections do not come and go.
func (m *Machine) thin() {
	live := 0
	var spare *peer
	for _, p := range m.peers {
		if p.live {
			live++
		}
		if p.spare && p.live {
			spare = p
		}
	}
	if spare != nil && live > m.cfg.floor+2 {
		spare.spare = false
	}
}
