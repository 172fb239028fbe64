package overlay

import (
	"slices"
)

// answer is what a peer was given. It is kept when the connection ends, since the peer may not have got it.
type answer struct {
	to     string
	number uint64
	tick   int
	arcs   []Peer
}

// flight is an exchange that waits for its answer. Its arcs are neither in the view nor gone.
type flight struct {
	with   string
	number uint64
	arcs   view // the sample, and the arc that is spent on the exchange itself
	given  []Peer
	waited int // ticks
}

func (f *flight) arcCount() int {
	if f == nil {
		return 0
	}
	return len(f.arcs)
}

// needsPeer reports whether the exchange may bring an arc to that peer back, or is with it.
func (f *flight) needsPeer(name string) bool {
	return f != nil && (f.with == name || f.arcs.countTo(name) > 0)
}

// startExchange asks for half of the view of the oldest neighbour, or of a peer that was lost and has come back. It costs the
// arc to it: the other one gets an arc to this node instead, so that arcs neither appear nor vanish.
func (m *Machine) startExchange() {
	if m.flight != nil {
		return
	}
	f := &flight{number: m.nextNumber()}
	isUp := func(name string) bool { p := m.findPeer(name); return p != nil && p.state == up }
	n := half(len(m.view))
	at := m.view.oldestTo(isUp)
	switch {
	case m.visit != "" && isUp(m.visit):
		f.with, m.visit = m.visit, ""
		if at = m.view.findTo(f.with); at < 0 && len(m.view) > 0 {
			at = m.chance.Below(len(m.view)) // any arc will do
		}
	case at >= 0:
		f.with = m.view[at].peer.Name
	default:
		return
	}
	if at >= 0 {
		f.arcs = append(f.arcs, m.view.takeAt(at))
	}
	sample := m.view.sampleArcs(&m.chance, min(n, MostSample)-1)
	f.arcs = append(f.arcs, sample...)
	f.given = append(m.arcsFor(sample, f.with), m.cfg.Self)
	m.flight = f
	m.sendTo(f.with, Exchange{Number: f.number, Arcs: f.given})
}

// arcsFor returns the arcs as they are given to a peer: for it, an arc to itself is one to this node.
func (m *Machine) arcsFor(arcs []arc, to string) (out []Peer) {
	for _, a := range arcs {
		if a.peer.Name == to {
			out = append(out, m.cfg.Self)
		} else {
			out = append(out, a.peer)
		}
	}
	return out
}

// passFlight repeats an exchange that is not answered, and gives it up in the end.
func (m *Machine) passFlight() {
	f := m.flight
	if f == nil {
		return
	}
	if f.waited++; f.waited >= askGiveUp {
		m.abandonFlight(f.with)
	} else if f.waited%askAgain == 0 {
		m.sendTo(f.with, Exchange{Number: f.number, Arcs: f.given})
	}
}

// abandonFlight takes the arcs back that were given to a peer which has not answered. It may have them too: the number of arcs
// then changes by the difference of the two halves.
func (m *Machine) abandonFlight(with string) {
	f := m.flight
	if f == nil || f.with != with {
		return
	}
	m.flight = nil
	for _, a := range f.arcs {
		m.addArc(a.peer)
	}
}

// answerExchange answers an exchange: once, however often it comes.
func (m *Machine) answerExchange(p *peer, e Exchange) {
	at := slices.IndexFunc(m.answers, func(a answer) bool { return a.to == p.Name })
	if at >= 0 {
		switch last := m.answers[at]; {
		case last.number == e.Number:
			m.sendTo(p.Name, Exchanged{Number: e.Number, Arcs: last.arcs})
			return
		case m.tick-last.tick < m.cfg.every/2:
			m.noteRefusal(p.Name, Hasty)
			return
		}
	}
	n := min(half(len(m.view)+m.flight.arcCount()), len(m.view), MostSample)
	sample := m.view.sampleArcs(&m.chance, n)
	given := m.arcsFor(sample, p.Name)
	if at >= 0 {
		m.answers = slices.Delete(m.answers, at, at+1)
	} else if len(m.answers) >= MostPeers {
		m.answers = slices.Delete(m.answers, 0, 1)
	}
	m.answers = append(m.answers, answer{to: p.Name, number: e.Number, tick: m.tick, arcs: given})
	m.receiveArcs(sample, e.Arcs)
	m.sendTo(p.Name, Exchanged{Number: e.Number, Arcs: given})
}

// takeAnswer takes the arcs for which others were given.
func (m *Machine) takeAnswer(p *peer, e Exchanged) {
	f := m.flight
	if f == nil || f.with != p.Name || f.number != e.Number {
		m.noteRefusal(p.Name, Unasked)
		return
	}
	m.flight = nil
	m.receiveArcs(f.arcs, e.Arcs)
}

// receiveArcs puts arcs into the view, and remembers those peers and the ones that were given away.
func (m *Machine) receiveArcs(given []arc, got []Peer) {
	for _, a := range given {
		m.meetPeers(a.peer)
	}
	m.meetPeers(got...)
	for _, p := range got {
		m.addArc(p)
	}
	m.grown = growth{}
}

// mostLost is how many peers that went away are remembered.
const mostLost = 16

// lookAround tries a peer again that went away, and from time to time a contact: after a cut nobody else knows of the
// other part, and an exchange with one node of it makes both one.
func (m *Machine) lookAround() {
	// After 1, 2, 4, 8 … periods, and in the end every ten minutes: a cut is most likely at a start.
	if m.periods%visitPeriods == 0 || m.periods&(m.periods-1) == 0 {
		apart := slices.DeleteFunc(slices.Clone(m.cfg.Contacts), func(p Peer) bool { return m.findPeer(p.Name) != nil })
		if len(apart) > 0 {
			m.lost.notePeer(apart[m.chance.Below(len(apart))], mostLost)
		}
	}
	m.visitLost()
}

// visitLost connects to the peer that was tried longest ago.
func (m *Machine) visitLost() {
	if m.visit != "" {
		return
	}
	for range len(m.lost) {
		p := m.lost[0]
		m.lost.notePeer(p, mostLost) // the next time it is the last one
		if q := m.findPeer(p.Name); q == nil || q.state != up {
			m.visit = p.Name
			m.ensurePeer(p)
			return
		}
		m.lost.forgetPeer(p.Name)
	}
}

// usual is what a node knows of the number of its arcs, in thousandths. Exchanges make all views equal, so it is that of all.
type usual struct {
	periods int // that were counted
	now     int // the average of the last periods
	most    int // that the average has been
}

// averaged is over how many periods arcs are averaged: one view alone has twice as many as another, by chance.
const averaged = 16

// refillView takes an arc if there are less than half as many as there were. A node that starts again without end takes arcs along
// each time, and so do crashes that nobody counts right. A network that has shrunk keeps some arcs more than it needs: half as
// many arcs are those of a network of as many nodes as the square root.
func (m *Machine) refillView() {
	const thousand = 1000
	u, arcs := &m.usual, (len(m.view)+m.flight.arcCount())*thousand
	if u.periods++; u.periods <= averaged {
		u.now += (arcs - u.now) / u.periods
		return
	}
	u.now += (arcs - u.now) / averaged
	u.most = max(u.most, u.now)
	if 2*u.now >= u.most || 2*arcs >= u.most {
		return
	}
	if p, is := m.anotherPeer(); is {
		m.addArc(p)
	}
}
