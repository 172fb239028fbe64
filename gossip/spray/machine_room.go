package spray

import "slices"

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
		if p.state == up && p.holds == 0 && !m.needs(p) && (idle == nil || p.idle > idle.idle) {
			idle = p
		}
	}
	for idle == nil && len(m.welcome) > 0 {
		if p := m.find(m.welcome[0]); p != nil && p.state == up && !m.needs(p) {
			idle = p
		}
		m.welcome = m.welcome[1:]
	}
	if idle == nil {
		return false
	}
	m.do(Disconnect{Peer: idle.Name})
	m.remove(idle)
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
	m.refuse(name, Crowded)
	m.send(name, Welcome{Met: m.acquaintances(name)})
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
		m.do(Disconnect{Peer: t.name})
	}
	m.turned = slices.Delete(m.turned, 0, n)
}

// unturn forgets a peer that was turned away, and reports whether it was.
func (m *Machine) unturn(name string) bool {
	at := slices.IndexFunc(m.turned, func(t turned) bool { return t.name == name })
	if at >= 0 {
		m.turned = slices.Delete(m.turned, at, at+1)
	}
	return at >= 0
}
