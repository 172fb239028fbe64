package overlay

import (
	"slices"
)

// settleLinks asks for the connections that are needed, gives up those that nobody needs, and says who is a neighbour.
func (m *Machine) settleLinks() {
	if m.left {
		return
	}
	m.fillFloor()
	for i := 0; i < len(m.peers); i++ {
		p := m.peers[i]
		needed := m.needsLink(p)
		if needed || p.holds > 0 {
			p.idle = 0
		}
		switch {
		case p.state == away && needed:
			p.state = dialling
			if m.forgetTurned(p.Name) {
				m.addAction(Disconnect{Peer: p.Name})
			}
			m.addAction(Connect{Peer: p.Peer})
		case p.state == away, p.state == dialling && !needed, p.idle >= grace:
			if p.state != away {
				m.addAction(Disconnect{Peer: p.Name})
			}
			m.removePeer(p)
			i--
			continue
		case p.state == up && (!p.greeted || p.told != needed):
			p.greeted, p.told = true, needed
			m.sendTo(p.Name, Hello{Address: m.cfg.Self.Address, Incarnation: m.cfg.Incarnation, Holds: needed})
		}
		switch {
		case p.state == up && !p.live:
			m.addAction(Gained{Peer: p.Name})
		case p.state != up && p.live:
			m.addAction(Lost{Peer: p.Name})
		}
		p.live = p.state == up
	}
	m.sendSubscribe()
}

// fillFloor connects to remembered peers while there are too few neighbours, and keeps connections that nobody needs.
func (m *Machine) fillFloor() {
	if m.tick == 0 {
		return
	}
	have := 0
	var idle, fit []Peer
	for _, p := range m.peers {
		if p.holds > 0 || m.needsLink(p) {
			if have++; have >= m.cfg.floor {
				return
			}
		} else if p.state == up {
			idle = append(idle, p.Peer)
		}
	}
	for _, p := range m.cache {
		if m.findPeer(p.Name) == nil {
			fit = append(fit, p)
		}
	}
	for ; have < m.cfg.floor && len(fit)+len(idle) > 0; have++ {
		if len(fit) == 0 {
			fit, idle = idle, nil
		}
		at := m.chance.Below(len(fit))
		m.ensurePeer(fit[at]).spare = true
		fit = slices.Delete(fit, at, at+1)
	}
}

// thinSpares gives one spare connection up, if there are neighbours enough without it. There are two more than the floor, so
// that connections do not come and go.
func (m *Machine) thinSpares() {
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

// mostTurned is how many peers may be about to read that there is no room for them.
const mostTurned = 64

// turned is a connection for which there is no room.
type turned struct {
	name string
	tick int
}

// makeRoom gives up a connection, and reports whether there was one to give up: the one that neither side has needed for
// longest; else that of the newcomer which was welcomed first, since it has all that it came for. The contacts of thousands
// would be full of those that have just joined, or have looked whether they are one.
func (m *Machine) makeRoom() bool {
	var idle *peer
	for _, p := range m.peers {
		if p.state == up && p.holds == 0 && !m.needsLink(p) && (idle == nil || p.idle > idle.idle) {
			idle = p
		}
	}
	for idle == nil && len(m.welcome) > 0 {
		if p := m.findPeer(m.welcome[0]); p != nil && p.state == up && !m.needsLink(p) {
			idle = p
		}
		m.welcome = m.welcome[1:]
	}
	if idle == nil {
		return false
	}
	m.addAction(Disconnect{Peer: idle.Name})
	m.removePeer(idle)
	return true
}

// letsGo notes a newcomer whose connection may be given up.
func (m *Machine) letsGo(p *peer) {
	m.welcome = append(slices.DeleteFunc(m.welcome, func(name string) bool { return name == p.Name }), p.Name)
	if len(m.welcome) > MostPeers {
		m.welcome = m.welcome[1:]
	}
}

// turnAway names others to a peer for which there is no room. Most of them have joined a moment ago, and have some: so
// thousands that start at one time become a tree. The connection stays for a moment, in which that is read.
func (m *Machine) turnAway(name string) {
	m.noteRefusal(name, Crowded)
	m.sendTo(name, Welcome{Met: m.someAcquaintances(name)})
	m.turned = append(m.turned, turned{name, m.tick})
	if len(m.turned) > mostTurned {
		m.endTurned(1)
	}
}

// passTurned ends the connections of those that were turned away, and have not gone by themselves.
func (m *Machine) passTurned() {
	n := 0
	for n < len(m.turned) && m.turned[n].tick < m.tick-1 {
		n++
	}
	m.endTurned(n)
}

func (m *Machine) endTurned(n int) {
	for _, t := range m.turned[:n] {
		m.addAction(Disconnect{Peer: t.name})
	}
	m.turned = slices.Delete(m.turned, 0, n)
}

// forgetTurned forgets a peer that was turned away, and reports whether it was.
func (m *Machine) forgetTurned(name string) bool {
	at := slices.IndexFunc(m.turned, func(t turned) bool { return t.name == name })
	if at >= 0 {
		m.turned = slices.Delete(m.turned, at, at+1)
	}
	return at >= 0
}
