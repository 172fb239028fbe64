package chunksync

import "github.com/conchhq/conch/fence"

// pump emits every action that is possible now.
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

// gather asks each peer for a promise. A peer that promises refuses all earlier leaders, so
// the version that it reports is the last from them. The other peers have the grace to
// answer, since they may hold a newer version that was not acknowledged.
func (m *machine) gather(now fence.Instant) {
	tried := true
	for _, p := range m.peers {
		if p.worthAsking() && p.busy == 0 && now >= p.due {
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

// worthAsking reports whether an answer of p could change what to adopt.
func (p *peer) worthAsking() bool { return !p.promised || p.damaged }

// best returns the newest catalog of this node and the intact peers, and whether it is
// sure to have each acknowledged write. The catalog of a damaged peer cannot be adopted,
// but its answer counts if it held nothing newer than the best. If enough intact peers have
// answered, damaged ones do not matter.
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

// push gives one peer its next chunks or offer, whatever state the other peers are in.
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
	case p.offer != Version{}: // all requested chunks have arrived: ask what is still missing
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
