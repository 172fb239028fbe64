package overlay

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
	if m.founder && !m.joined {
		m.becomeFounder()
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
	m.tried, m.hints = nil, nil
	m.joinBy(all[m.chance.Below(len(all))])
	m.pause = min(max(2*m.pause, 1), joinPause)
	m.joinAt = m.tick + m.pause
}

func (m *Machine) joinBy(contact Peer) {
	p := m.ensurePeer(contact)
	p.contact = true
	m.join = &joining{by: p.Name, number: m.nextNumber()}
}

// mostTries is how many peers a newcomer asks before it pauses.
const mostTries = 8

// joinElsewhere asks another peer in place of one that has not let this node join: one that was named by it, or a contact,
// each once before the next pause. Where a site starts, some are there before their contacts, or find them full, and another
// second would be all that it takes them to agree.
func (m *Machine) joinElsewhere(instead string) {
	m.tried = append(m.tried, instead)
	if m.joined || m.founder || len(m.tried) >= mostTries {
		return
	}
	for _, all := range [][]Peer{m.hints, m.cfg.Contacts} {
		left := slices.DeleteFunc(slices.Clone(all), func(p Peer) bool { return slices.Contains(m.tried, p.Name) })
		if len(left) > 0 {
			m.joinBy(left[m.chance.Below(len(left))])
			return
		}
	}
}

// turnedAway follows a contact that has no room. What it names is a hint: those are asked as contacts are, and who they are
// is for the transport to prove.
func (m *Machine) turnedAway(p *peer, met []Peer) {
	m.endJoin()
	if !m.needsLink(p) {
		m.addAction(Disconnect{Peer: p.Name})
		m.removePeer(p)
	}
	m.meetPeers(met...)
	m.hints = met
	m.joinElsewhere(p.Name)
}

// becomeFounder has a node join no more by which others have joined before it had: contacts that know each other are such. It is
// no newcomer, whose arcs would be too many; if the others are of another part, a visit to a contact makes both one.
func (m *Machine) becomeFounder() {
	m.joined = true
	for _, p := range m.cfg.Contacts {
		if m.findPeer(p.Name) == nil {
			m.lost.notePeer(p, mostLost)
		}
	}
	m.visitLost()
}

func (m *Machine) endJoin() {
	if p := m.findPeer(m.join.by); p != nil {
		p.contact = false
	}
	m.join = nil
}

// sendSubscribe says what could not be said before its connection was there.
func (m *Machine) sendSubscribe() {
	if j := m.join; j != nil && !j.sent {
		if p := m.findPeer(j.by); p != nil && p.state == up {
			j.sent = true
			m.sendTo(p.Name, Subscribe{Number: j.number})
		}
	}
}

// takeSubscribe makes a newcomer known, once. Of two that join by each other, as the first contacts of a site do, one is the
// newcomer: both would bring arcs, and the overlay would keep them.
func (m *Machine) takeSubscribe(p *peer, s Subscribe) {
	if m.join != nil && m.join.by == p.Name && !m.joined && len(m.view) == 0 {
		if m.cfg.Self.Name > p.Name {
			return
		}
		m.endJoin()
	}
	m.sendTo(p.Name, Welcome{Number: s.Number, Met: m.someAcquaintances(p.Name)})
	m.letsGo(p)
	m.presented = slices.DeleteFunc(m.presented, func(l presented) bool { return m.tick-l.tick > m.cfg.every })
	if !slices.ContainsFunc(m.presented, func(l presented) bool { return l.name == p.Name }) {
		m.presented = append(m.presented, presented{p.Name, m.tick})
		m.introduceNewcomer(p.Peer)
	}
}

// presented is a newcomer that was made known. One that starts again and again has the arcs of its last start.
type presented struct {
	name string
	tick int
}

// someAcquaintances returns peers for a newcomer: neighbours and remembered ones.
func (m *Machine) someAcquaintances(newcomer string) (out []Peer) {
	var all memory
	for _, p := range m.cache {
		all.notePeer(p, mostCache)
	}
	for _, p := range m.peers {
		if p.live && p.incarnation != 0 { // it has said its address
			all.notePeer(p.Peer, mostCache+MostPeers+MostArcs)
		}
	}
	all.forgetPeer(newcomer)
	for range min(len(all), MostMet) {
		at := m.chance.Below(len(all))
		out = append(out, all[at])
		all = slices.Delete(all, at, at+1)
	}
	return out
}

// introduceNewcomer asks others to take arcs to a newcomer: the other end of each of its arcs; and when one newcomer follows the
// other, any neighbours, or the same few would have arcs to all of them. A node without arcs takes one itself.
func (m *Machine) introduceNewcomer(newcomer Peer) {
	if len(m.view) == 0 {
		m.founder = true
		m.takeNewcomer(newcomer)
		return
	}
	first := m.grown.nodes == 0
	ends := slices.Clone(m.view)
	for i := range m.dueArcs() {
		var to *peer
		if first && i < len(ends) {
			to = m.findPeer(ends[i].peer.Name)
		}
		if to == nil || to.state != up {
			to = m.anyNeighbour(newcomer.Name)
		}
		if to == nil || to.Name == newcomer.Name {
			m.takeNewcomer(newcomer)
			continue
		}
		m.sendTo(to.Name, Forward{Number: m.nextNumber(), Newcomer: newcomer})
	}
}

// growth is what a node knows of the newcomers since its view was last evened out by an exchange.
type growth struct {
	arcs  int // in the view, when the first of them came
	nodes int // that a network has with such views, and the newcomers; 0: none has come
	more  int // arcs that views should have more since, in millionths
}

// dueArcs is how many arcs others take to a newcomer: as many as the view has had, and what a network that has grown by the
// newcomers since would have more. The view itself says little of that: its arcs are those of the old network, and those
// to newcomers of which others have told.
func (m *Machine) dueArcs() int {
	const million = 1_000_000
	g := &m.grown
	if g.nodes == 0 {
		g.arcs = len(m.view) + m.flight.arcCount()
		// Views of n nodes have 1/2 + 1/2 + 1/3 + … + 1/n arcs on average.
		g.nodes = 1
		for sum := million / 2; sum < g.arcs*million && g.nodes < 1<<16; sum += million / g.nodes {
			g.nodes++
		}
	}
	n := g.arcs + g.more/million
	if part := g.more % million; part > 0 && m.chance.Below(million) < part {
		n++
	}
	g.nodes++
	g.more += million / g.nodes
	return min(n, MostArcs)
}

// takeNewcomer adds an arc to a newcomer, if there is room.
func (m *Machine) takeNewcomer(newcomer Peer) bool {
	if len(m.view)+m.flight.arcCount() >= MostArcs {
		return false
	}
	m.addArc(newcomer)
	return true
}

func (m *Machine) takeForward(p *peer, f Forward) {
	if p.cameBefore(f.Number) {
		return
	}
	if !m.takeNewcomer(f.Newcomer) {
		m.noteRefusal(p.Name, Overfull)
		return
	}
	m.view[len(m.view)-1].told = m.tick
}

// takeWelcome ends the search. The first arc goes to one of those that the contact names, so that no contact has arcs of
// everybody.
func (m *Machine) takeWelcome(p *peer, w Welcome) {
	switch asked := m.join != nil && m.join.by == p.Name; {
	case asked && w.Number == 0:
		m.turnedAway(p, w.Met)
		return
	case !asked || m.join.number != w.Number:
		m.noteRefusal(p.Name, Unasked)
		return
	}
	m.endJoin()
	m.joined, m.pause = true, 0
	m.meetPeers(w.Met...)
	all := append([]Peer{p.Peer}, w.Met...)
	m.addArc(all[m.chance.Below(len(all))])
}
