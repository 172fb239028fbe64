package overlay

import (
	"cmp"
	"slices"
)

// state is where a connection is.
type state uint8

const (
	away     state = iota // there is none
	dialling              // it was asked for
	up
)

// peer is another node that has a connection or is to get one.
type peer struct {
	Peer

	state   state
	spare   bool // needed beside the view, since there are too few neighbours
	contact bool // needed to join
	was     bool // it was up before this dial
	breaks  int  // of its connection in this period
	greeted bool // our last Hello says what is true
	told    bool // what it said: that this node needs the connection
	live    bool // it is up, and the caller was told so
	holds   int  // ticks for which it needs the connection, as it said
	idle    int  // ticks in which neither side needs it

	incarnation uint64 // it said; 0: not yet
	budget      int    // messages that it may send before the next tick
	recent      []uint64
}

// recentNumbers is how many messages of a peer are remembered, so that one that comes twice counts once.
const recentNumbers = 32

// cameBefore reports whether a message with that number has come before.
func (p *peer) cameBefore(number uint64) bool {
	if slices.Contains(p.recent, number) {
		return true
	}
	if p.recent = append(p.recent, number); len(p.recent) > recentNumbers {
		p.recent = slices.Delete(p.recent, 0, 1)
	}
	return false
}

func (m *Machine) peerIndex(name string) (int, bool) {
	return slices.BinarySearchFunc(m.peers, name, func(p *peer, name string) int { return cmp.Compare(p.Name, name) })
}

func (m *Machine) findPeer(name string) *peer {
	if i, found := m.peerIndex(name); found {
		return m.peers[i]
	}
	return nil
}

// ensurePeer returns the peer, which is added if it is not there.
func (m *Machine) ensurePeer(p Peer) *peer {
	i, found := m.peerIndex(p.Name)
	if !found {
		left, was := m.budgets[p.Name]
		if !was {
			left = budget
		}
		m.peers = slices.Insert(m.peers, i, &peer{Peer: p, budget: left})
	}
	return m.peers[i]
}

func (m *Machine) removePeer(p *peer) {
	if i, found := m.peerIndex(p.Name); found && m.peers[i] == p {
		m.peers = slices.Delete(m.peers, i, i+1)
		m.budgets[p.Name] = p.budget // to connect once more pays for nothing
	}
	if p.live {
		m.addAction(Lost{Peer: p.Name})
	}
}

// needsLink reports whether this node needs the connection.
func (m *Machine) needsLink(p *peer) bool {
	return p.spare || p.contact || p.Name == m.visit || m.arcLeads(p) || m.callerNeeds(p)
}

// callerNeeds reports whether the caller needs the connection.
func (m *Machine) callerNeeds(p *peer) bool {
	return slices.ContainsFunc(m.kept, func(k Peer) bool { return k.Name == p.Name })
}

// holdKept asks for the connections that the caller needs, if they are not there.
func (m *Machine) holdKept() {
	for _, p := range m.kept {
		m.ensurePeer(p)
	}
}

// arcLeads reports whether an arc of the view leads to a peer, or one that an exchange has given away may come back.
func (m *Machine) arcLeads(p *peer) bool {
	return m.view.countTo(p.Name) > 0 || m.flight.needsPeer(p.Name)
}

// addArc puts an arc into the view. The connection follows from that.
func (m *Machine) addArc(p Peer) {
	m.ensurePeer(p)
	m.view = append(m.view, arc{peer: p})
}

// linkUp notes a connection.
func (m *Machine) linkUp(name string) {
	p := m.findPeer(name)
	if p == nil {
		switch {
		case !(Peer{Name: name}).isSound() || name == m.cfg.Self.Name:
			m.noteRefusal(name, Crowded)
			m.addAction(Disconnect{Peer: name})
			return
		case len(m.peers) >= MostPeers && !m.makeRoom():
			m.turnAway(name)
			return
		}
		p = m.ensurePeer(Peer{Name: name})
	}
	p.state, p.greeted, p.idle = up, false, 0
	p.holds = m.helloPatience() // a peer that connects needs it, until its Hello says otherwise
}

// takeHello notes what a peer says of itself.
func (m *Machine) takeHello(p *peer, h Hello) {
	if p.incarnation != h.Incarnation && p.incarnation != 0 {
		m.peerRestarted(p)
	}
	p.incarnation, p.Address, p.holds = h.Incarnation, h.Address, 0
	if h.Holds {
		p.holds = m.helloPatience()
	}
	m.lost.forgetPeer(p.Name)
	if p.Name == m.visit {
		m.startExchange()
	}
}

// helloPatience is how many ticks a Hello counts: for three periods, so that two of them may be lost.
func (m *Machine) helloPatience() int { return 3*m.cfg.every + grace }

// peerRestarted takes a peer that has forgotten everything for another one of the same name. The arcs that a contact has asked
// for meanwhile are the new one's.
func (m *Machine) peerRestarted(p *peer) {
	m.abandonFlight(p.Name)
	m.replaceArcs(m.view.dropTo(p.Name, max(m.tick-m.cfg.every, 1)), true)
	p.recent, p.spare, p.greeted = nil, false, false
}

// mostBreaks is how often a connection is made again within a period. One that breaks more often is none.
const mostBreaks = 3

// linkDown notes that there is no connection. One that was there for an arc is made again: it may have broken alone, or the
// other side has closed it in the instant in which this one began to need it.
func (m *Machine) linkDown(name string) {
	p := m.findPeer(name)
	switch {
	case p == nil:
		m.forgetTurned(name)
	case p.state == up && p.breaks < mostBreaks && m.arcLeads(p):
		p.state, p.was, p.holds = away, true, 0
		p.breaks++
	case p.state == up && !m.needsLink(p):
		m.removePeer(p)
	default:
		m.peerGone(p, p.was || p.state == up)
	}
}

// peerGone removes a peer. Its arcs are replaced: if it was there before, all but one of them on average over the network,
// so that the views shrink with the network; if it never was, all of them.
func (m *Machine) peerGone(p *peer, wasUp bool) {
	m.cache.forgetPeer(p.Name)
	if wasUp || p.Name == m.visit {
		m.lost.notePeer(p.Peer, mostLost)
	}
	if p.Name == m.visit {
		m.visit = ""
	}
	asked := m.join != nil && m.join.by == p.Name
	if asked {
		m.join = nil
	}
	m.abandonFlight(p.Name)
	n := m.view.dropTo(p.Name, all)
	m.removePeer(p)
	m.replaceArcs(n, wasUp)
	if asked {
		m.joinElsewhere(p.Name)
	}
}

// replaceArcs adds arcs for so many that were dropped. Peers that went down take some of theirs along.
func (m *Machine) replaceArcs(n int, down bool) {
	from := len(m.view) + n
	for range n {
		if down && m.chance.Below(from) == 0 {
			continue
		}
		if p, is := m.anotherPeer(); is {
			m.addArc(p)
		}
	}
}

// anotherPeer draws a peer for an arc: of the view, else a neighbour, else one that is remembered.
func (m *Machine) anotherPeer() (Peer, bool) {
	if len(m.view) > 0 {
		return m.view[m.chance.Below(len(m.view))].peer, true
	}
	if p := m.anyNeighbour(); p != nil {
		return p.Peer, true
	}
	if len(m.cache) > 0 {
		return m.cache[m.chance.Below(len(m.cache))], true
	}
	return Peer{}, false
}

// anyNeighbour draws a neighbour that is none of these, or returns nil.
func (m *Machine) anyNeighbour(but ...string) *peer {
	var fit []*peer
	for _, p := range m.peers {
		if p.live && p.state == up && !slices.Contains(but, p.Name) {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[m.chance.Below(len(fit))]
}

// meetPeers remembers peers.
func (m *Machine) meetPeers(all ...Peer) {
	for _, p := range all {
		if p.Name != m.cfg.Self.Name {
			m.cache.notePeer(p, mostCache)
		}
	}
}
