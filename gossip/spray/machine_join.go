package spray

import "slices"

// joining is a contact that is asked.
type joining struct {
	by     string
	number uint64
	sent   bool
	waited int // ticks
}

// passJoin looks for a contact if this node has not joined, or has nobody any more. That others have connected is no
// reason not to join: after a restart they may remember the node that was.
func (m *Machine) passJoin() {
	if j := m.join; j != nil {
		if j.waited++; j.waited >= joinGiveUp {
			m.endJoin()
		} else if j.waited%joinAgain == 0 {
			j.sent = false
		}
		return
	}
	busy := slices.ContainsFunc(m.peers, func(p *peer) bool { return p.state != away })
	if m.tick < m.joinAt || m.joined && busy {
		return
	}
	all := m.cfg.Contacts
	if !busy {
		all = slices.Concat(all, m.cache, m.lost)
	}
	if len(all) == 0 {
		return
	}
	p := m.ensure(all[m.chance.below(len(all))])
	p.contact = true
	m.join = &joining{by: p.Name, number: m.next()}
	m.pause = min(max(2*m.pause, 1), joinPause)
	m.joinAt = m.tick + m.pause
}

func (m *Machine) endJoin() {
	if p := m.find(m.join.by); p != nil {
		p.contact = false
	}
	m.join = nil
}

// speak says what could not be said before its connection was there.
func (m *Machine) speak() {
	if j := m.join; j != nil && !j.sent {
		if p := m.find(j.by); p != nil && p.state == up {
			j.sent = true
			m.send(p.Name, Subscribe{Number: j.number})
		}
	}
}

// subscribed makes a newcomer known, once.
func (m *Machine) subscribed(p *peer, s Subscribe) {
	m.send(p.Name, Welcome{Number: s.Number, Met: m.acquaintances(p.Name)})
	if p.subscribe == s.Number {
		return
	}
	p.subscribe = s.Number
	if m.recent.due(p.Name, m.tick) {
		m.introduce(p.Peer)
	}
}

// acquaintances returns peers for a newcomer: neighbours and remembered ones.
func (m *Machine) acquaintances(newcomer string) (out []Peer) {
	var all memory
	for _, p := range m.cache {
		all.note(p, m.cfg.Cache)
	}
	for _, p := range m.peers {
		if p.live && p.incarnation != 0 { // it has said its address
			all.note(p.Peer, m.cfg.Cache+MostPeers+MostArcs)
		}
	}
	all.forget(newcomer)
	for range min(len(all), MostMet) {
		at := m.chance.below(len(all))
		out = append(out, all[at])
		all = slices.Delete(all, at, at+1)
	}
	return out
}

// introduce asks the other end of each arc to take one to the newcomer. A node without arcs takes one itself.
func (m *Machine) introduce(newcomer Peer) {
	if len(m.view) == 0 {
		m.take(newcomer)
		return
	}
	for _, a := range slices.Clone(m.view) {
		to := m.find(a.peer.Name)
		if to == nil || to.state != up {
			to = m.anyNeighbour(newcomer.Name)
		}
		if to == nil || to.Name == newcomer.Name {
			m.take(newcomer)
			continue
		}
		m.send(to.Name, Forward{Number: m.next(), Newcomer: newcomer})
	}
}

// take adds an arc to a newcomer, if there is room.
func (m *Machine) take(newcomer Peer) bool {
	if len(m.view)+m.flight.size() >= MostArcs {
		return false
	}
	m.add(newcomer)
	return true
}

func (m *Machine) forwarded(p *peer, f Forward) {
	if p.again(f.Number) {
		return
	}
	if !m.take(f.Newcomer) {
		m.refuse(p.Name, Overfull)
		return
	}
	m.view[len(m.view)-1].told = m.tick
}

// welcomed ends the search. The first arc goes to one of those that the contact names, so that no contact has arcs of
// everybody.
func (m *Machine) welcomed(p *peer, w Welcome) {
	if m.join == nil || m.join.by != p.Name || m.join.number != w.Number {
		m.refuse(p.Name, Unasked)
		return
	}
	m.endJoin()
	m.joined, m.pause = true, 0
	m.meet(w.Met...)
	all := append([]Peer{p.Peer}, w.Met...)
	m.add(all[m.chance.below(len(all))])
}
