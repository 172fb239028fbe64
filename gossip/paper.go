package gossip

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/wire"
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

func (p *paperSeat) begin(now time.Duration) { p.begins = now }

// note remembers how long ago a leader has said something, of so many at most: a neighbour may name anybody, and then another one. If
// there are too many, those that no neighbour names any more are forgotten.
func (p *paperSeat) note(leader wire.Subject, sequence uint64, made time.Duration) {
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

// alive reports whether a leader has said something that is not forgotten.
func (p *paperSeat) alive(leader wire.Subject) bool { return p.evidence[leader] != nil }

// valid returns the leaders that the valid neighbours have chosen: those whose word is not forgotten, and whose leader's is not.
func (p *paperSeat) valid() (chosen []wire.Subject) {
	subjects := make([]wire.Subject, 0, len(p.votes))
	for s := range p.votes {
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b wire.Subject) int { return slices.Compare(a[:], b[:]) })
	for _, s := range subjects {
		if leader := p.votes[s].vote.Leader; p.alive(leader) {
			chosen = append(chosen, leader)
		}
	}
	return chosen
}

// forget drops what is no longer valid.
func (p *paperSeat) forget(since time.Duration) {
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
