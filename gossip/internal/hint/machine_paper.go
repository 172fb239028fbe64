package hint

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// paperSeat is the state of a namespace under policy paper.
type paperSeat struct {
	votes    map[wire.Subject]*vote
	evidence map[wire.Subject]*evidence

	begins             time.Duration // the round
	chosen, told, seen bool          // the phases of it that are done
	choice, rival      wire.Subject
	since              time.Duration // the choice was made
	wins               int           // rounds in a row that the rival has won
}

// vote is a neighbour's newest one.
type vote struct {
	said wire.Said
	vote wire.Vote
	made time.Duration
	direct
}

// evidence is the newest word of a leader itself that somebody has told of (B7).
type evidence struct {
	sequence uint64
	made     time.Duration
}

func newPaperSeat() *paperSeat {
	return &paperSeat{votes: map[wire.Subject]*vote{}, evidence: map[wire.Subject]*evidence{}}
}

func (p *paperSeat) beginRound(now time.Duration) { p.begins = now }

// noteWord remembers how long ago a leader has said something, of so many at most: a neighbour may name anybody, and then another one. If
// there are too many, those that no neighbour names any more are forgotten.
func (p *paperSeat) noteWord(leader wire.Subject, sequence uint64, made time.Duration) {
	if len(p.evidence) >= mostRested && p.evidence[leader] == nil {
		named := map[wire.Subject]bool{p.choice: true}
		for _, v := range p.votes {
			named[v.vote.Leader] = true
		}
		maps.DeleteFunc(p.evidence, func(s wire.Subject, _ *evidence) bool { return !named[s] })
	}
	if e := p.evidence[leader]; e == nil || sequence > e.sequence {
		p.evidence[leader] = &evidence{sequence, made}
	}
}

// heardSince reports whether a leader has said something since an instant.
func (p *paperSeat) heardSince(leader wire.Subject, since time.Duration) bool {
	e := p.evidence[leader]
	return e != nil && e.made >= since
}

// validChoices returns the leaders that the valid neighbours have chosen: those that were heard since an instant, and whose leader was.
func (p *paperSeat) validChoices(since time.Duration) (chosen []wire.Subject) {
	subjects := make([]wire.Subject, 0, len(p.votes))
	for s := range p.votes {
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b wire.Subject) int { return slices.Compare(a[:], b[:]) })
	for _, s := range subjects {
		if v := p.votes[s]; v.made >= since && p.heardSince(v.vote.Leader, since) {
			chosen = append(chosen, v.vote.Leader)
		}
	}
	return chosen
}

// forgetBefore drops what is no longer valid.
func (p *paperSeat) forgetBefore(since time.Duration) {
	for s, v := range p.votes {
		if v.made < since {
			delete(p.votes, s)
		}
	}
	for s, e := range p.evidence {
		if e.made < since {
			delete(p.evidence, s)
		}
	}
}

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
	if is, err := m.isVerified(by, said); !is {
		return err
	}
	p.votes[said.Subject] = &vote{said: *said, vote: v, made: m.madeAt(said), direct: m.noteDirect(by, said, direct{})}
	if v.Leader == said.Subject {
		p.noteWord(v.Leader, said.Sequence, m.madeAt(said))
	} else {
		p.noteWord(v.Leader, v.Sequence, m.madeAt(said)-time.Duration(v.Age)*m.cfg.Round)
	}
	return nil
}

// voteInRound goes through the phases of a round: choose, say, see.
func (m *Machine) voteInRound(s *seat) {
	p, c := s.paper, &s.cfg.Paper
	if m.now >= p.begins && !p.chosen {
		p.chosen = true
		m.chooseLeader(s)
	}
	if m.now >= p.begins+c.DeltaE && !p.told {
		p.told = true
		body := wire.Vote{Leader: p.choice}
		if e := p.evidence[p.choice]; e != nil && p.choice != m.cfg.Self {
			body.Sequence, body.Age = e.sequence, uint32(max(0, min((m.now-e.made)/m.cfg.Round, wire.MostAge)))
		}
		said := m.signStatement(s.cfg.Name, "", body.Body())
		m.relaySaid(m.listed, nil, said, m.now)
	}
	if m.now >= p.begins+c.DeltaD && !p.seen {
		p.seen, s.state = true, Following
		if p.choice == m.cfg.Self {
			s.state = Leading
		}
		m.noteSuggestion(s, Suggestion{Leader: p.choice, Since: m.now, Self: p.choice == m.cfg.Self})
	}
	if m.now >= p.begins+c.DeltaR {
		for p.begins+c.DeltaR <= m.now {
			p.begins += c.DeltaR
		}
		p.chosen, p.told, p.seen = false, false, false
	}
}

// chooseLeader takes the majority of a sample of three valid neighbours (B2).
func (m *Machine) chooseLeader(s *seat) {
	p, c := s.paper, &s.cfg.Paper
	p.forgetBefore(m.now - c.validFor())
	valid := p.validChoices(m.now - c.validFor())
	for i := range min(3, len(valid)) { // a sample without repetition
		j := i + m.chance.Below(len(valid)-i)
		valid[i], valid[j] = valid[j], valid[i]
	}
	sample := valid[:min(3, len(valid))]
	reaches := p.choice == m.cfg.Self || p.heardSince(p.choice, m.now-c.validFor())
	if !reaches || p.choice == (wire.Subject{}) {
		p.choice, p.since = m.cfg.Self, m.now
	}
	if len(sample) < 3 { // two nodes that only listen to each other would change places for ever (B17)
		sample = append(sample, p.choice)
	}
	winner := m.sampleWinner(s, sample)
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

// sampleWinner returns the leader that most of a sample have chosen. The document picks one at random if all differ; the order of the
// namespace is the same at every node.
func (m *Machine) sampleWinner(s *seat, sample []wire.Subject) wire.Subject {
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
		if orderHash(s.cfg.Name, a) < orderHash(s.cfg.Name, best) {
			best = a
		}
	}
	return best
}
