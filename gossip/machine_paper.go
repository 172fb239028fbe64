package gossip

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// hearVote takes a neighbour's vote (B2). Votes are not relayed: a round is a talk of neighbours.
func (m *Machine) hearVote(s *seat, by *peer, said *wire.Said) error {
	p := s.paper
	old := p.votes[said.Subject]
	if old != nil && !said.Later(old.said.Incarnation, old.said.Sequence) {
		return m.goesBack(by, said, &old.direct)
	}
	v, err := wire.ReadVote(said.Body)
	switch {
	case err != nil:
		return err
	case by.Subject != said.Subject:
		return nil // it is no neighbour's own
	}
	if is, err := m.verified(by, said); !is {
		return err
	}
	p.votes[said.Subject] = &vote{said: *said, vote: v, made: m.madeAt(said), direct: m.noted(by, said, direct{})}
	if v.Leader == said.Subject {
		p.note(v.Leader, said.Sequence, m.madeAt(said))
	} else {
		p.note(v.Leader, v.Sequence, m.madeAt(said)-time.Duration(v.Age)*m.cfg.Round)
	}
	return nil
}

// vote goes through the phases of a round: choose, say, see.
func (m *Machine) vote(s *seat) {
	p, c := s.paper, &s.cfg.Paper
	if m.now >= p.begins && !p.chosen {
		p.chosen = true
		m.choose(s)
	}
	if m.now >= p.begins+c.DeltaE && !p.told {
		p.told = true
		body := wire.Vote{Leader: p.choice}
		if e := p.evidence[p.choice]; e != nil && p.choice != m.cfg.Self {
			body.Sequence, body.Age = e.sequence, uint32(max(0, min((m.now-e.made)/m.cfg.Round, wire.MostAge)))
		}
		said := m.say(s.cfg.Name, "", body.Body())
		m.relay(m.listed, nil, said, m.now)
	}
	if m.now >= p.begins+c.DeltaD && !p.seen {
		p.seen, s.state = true, Following
		if p.choice == m.cfg.Self {
			s.state = Leading
		}
		m.changed(s, Suggestion{Leader: p.choice, Since: m.now, Self: p.choice == m.cfg.Self})
	}
	if m.now >= p.begins+c.DeltaR {
		for p.begins+c.DeltaR <= m.now {
			p.begins += c.DeltaR
		}
		p.chosen, p.told, p.seen = false, false, false
	}
}

// choose takes the majority of a sample of three valid neighbours (B2).
func (m *Machine) choose(s *seat) {
	p, c := s.paper, &s.cfg.Paper
	p.forget(m.now - c.validFor())
	valid := p.valid()
	for i := range min(3, len(valid)) { // a sample without repetition
		j := i + m.chance.Below(len(valid)-i)
		valid[i], valid[j] = valid[j], valid[i]
	}
	sample := valid[:min(3, len(valid))]
	reaches := p.choice == m.cfg.Self || p.alive(p.choice)
	if !reaches || p.choice == (wire.Subject{}) {
		p.choice, p.since = m.cfg.Self, m.now
	}
	if len(sample) < 3 { // two nodes that only listen to each other would change places for ever (B17)
		sample = append(sample, p.choice)
	}
	winner := m.winner(s, sample)
	switch {
	case winner == p.choice:
		p.wins = 0
		return
	case winner != p.rival:
		p.rival, p.wins = winner, 0
	}
	p.wins++
	if reaches && (p.wins < c.Hysteresis || m.now-p.since < c.Tenure) {
		return // it stays (B4, B5)
	}
	p.choice, p.since, p.wins = winner, m.now, 0
}

// winner returns the leader that most of a sample have chosen. The document picks one at random if all differ; the order of the
// namespace is the same at every node.
func (m *Machine) winner(s *seat, sample []wire.Subject) wire.Subject {
	for i, a := range sample {
		if slices.Contains(sample[i+1:], a) {
			return a
		}
	}
	if s.cfg.Paper.RandomOnTie {
		return sample[m.chance.Below(len(sample))]
	}
	best := sample[0]
	for _, a := range sample[1:] {
		if placed(s.cfg.Name, a) < placed(s.cfg.Name, best) {
			best = a
		}
	}
	return best
}
