package chunksync

import "github.com/conchhq/conch/fence"

// pump asks for everything that can be done now.
func (m *machine) pump(now fence.Instant) {
	switch m.phase {
	case gathering:
		m.gather(now)
	case leading:
		for _, p := range m.peers {
			m.push(now, p)
		}
	case idle, adopting, resigned:
	}
}

// gather asks every peer what it holds. A peer that answers has promised to refuse all
// leaders before this one, so what it says is the last that it had from them. Enough
// have answered when no write that was acknowledged can have been missed; the others
// are given a moment, since they may know of one that was not.
func (m *machine) gather(now fence.Instant) {
	tried := true
	for _, p := range m.peers {
		if p.unheard() && p.busy == 0 && now >= p.due {
			p.busy++
			m.do(ask{Peer: p.name})
		}
		tried = tried && p.asked
	}
	best, sure := m.best()
	if !sure || !tried && now < m.until {
		return
	}
	m.phase = adopting
	m.do(best)
}

// unheard is who may still say something new.
func (p *peer) unheard() bool { return !p.promised || p.damaged }

// best is the newest that this node or a whole peer holds, and whether no write that was
// acknowledged can be missed by it. Who is damaged has nothing to give, but it has heard
// what there was. So it counts as heard where that is no newer than the best; and it is
// not needed where enough others are heard.
func (m *machine) best() (best adopt, sure bool) {
	best = adopt{Version: m.own}
	votes, whole, damaged := 0, 0, Version{}
	for _, p := range m.peers {
		switch {
		case !p.promised:
			continue
		case !p.damaged:
			whole++
			if p.had.Compare(best.Version) > 0 {
				best = adopt{Peer: p.name, Version: p.had}
			}
		case p.had.Compare(damaged) > 0:
			damaged = p.had
		}
		votes++
	}
	need := m.set.Need()
	return best, whole >= need || votes >= need && damaged.Compare(best.Version) <= 0
}

// push gives one peer its next piece. Peers do not know of each other here: one that
// is slow delays nobody.
func (m *machine) push(now fence.Instant, p *peer) {
	for len(p.queue) > 0 && p.busy < m.set.Parallel {
		p.busy++
		m.do(send{Peer: p.name, Chunk: p.queue[0]})
		p.queue = p.queue[1:]
	}
	if p.busy > 0 {
		return
	}
	behind := m.own.Compare(p.held) > 0
	switch {
	case p.offer != Version{}: // all of a round has arrived: what is missing of it now?
	case p.fails > 0 && now < p.due:
		return
	case !behind && now < p.due:
		return
	default:
		p.offer = m.own
	}
	p.busy++
	m.do(offer{Peer: p.name, Version: p.offer})
}
