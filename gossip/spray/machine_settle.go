package spray

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
		m.settleLive(p, needed)
	}
	m.speak()
}

// settleLive tells the caller if a peer has become a neighbour, or is one no more.
func (m *Machine) settleLive(p *peer, needed bool) {
	live := p.state == up && (needed || p.holds > 0)
	switch {
	case live && !p.live:
		m.do(Gained{Peer: p.Name})
	case !live && p.live:
		m.do(Lost{Peer: p.Name})
	}
	p.live = live
}

// fill connects to remembered peers while there are too few neighbours.
func (m *Machine) fill() {
	if m.cfg.Broken == PeerCache || m.tick == 0 {
		return
	}
	have := 0
	for _, p := range m.peers {
		if p.holds > 0 || m.needs(p) {
			have++
		}
	}
	var fit []Peer
	for _, p := range m.cache {
		if m.find(p.Name) == nil {
			fit = append(fit, p)
		}
	}
	for ; have < m.cfg.Floor && len(fit) > 0; have++ {
		at := m.chance.below(len(fit))
		m.ensure(fit[at]).spare = true
		fit[at] = fit[len(fit)-1]
		fit = fit[:len(fit)-1]
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
	if spare != nil && live > m.cfg.Floor+2 {
		spare.spare = false
	}
}
