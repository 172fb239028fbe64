package hint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// State is what a node does in a namespace.
type State uint8

// The states.
const (
	Listening State = iota // it is new, or was cut off: it stands, and raises no reign
	Following              // it stands, and follows
	Leading
	Back      // it has stepped down, and does not stand for a while
	Parted    // it hears too few others: it does not stand
	Bystander // it is no elector
)

var stateNames = [...]string{"listening", "following", "leading", "standing back", "parted", "bystander"}

func (s State) String() string { return stateNames[s] }

// mayStand reports whether a node may be the next leader.
func (s State) mayStand() bool { return s <= Leading }

// seat is the state of one namespace.
type seat struct {
	cfg     Namespace
	valid   time.Duration // of a heartbeat, for this node
	beats   time.Duration // between two of its own
	elector map[wire.Subject]bool
	mesh    []*peer // connections to electors

	state     State
	until     time.Duration // it listens, or stands back for a reason of its own
	backs     int           // how often it has stood back for one lately, mostBacks at most
	withdrawn time.Duration // it stands back since its user has said so
	withdraws int           // how often that was so lately, mostBacks at most
	own       candidate     // this node itself
	top       uint64        // the highest reign that was heard of
	led       uint64        // the highest reign in which somebody else was heard to lead
	ledAt     time.Duration // when that was first said
	heard     time.Duration // when the newest heartbeat of anybody else was said
	stood     time.Duration // since when it has sent heartbeats
	beating   bool
	silent    bool // it has nothing to say at its next beat
	beatAt    time.Duration
	wideAt    time.Duration
	rival     time.Duration // since when another claims to lead that comes later in the order; 0: nobody does
	rumour    time.Duration // since when the crowd brings claims that come before this leader's; 0: it does not
	hearing   time.Duration // since when it hears enough others; 0: it does not
	lastDeaf  time.Duration // the last instant at which it had not heard enough others for half a validity
	alone     time.Duration // the last instant at which there was nobody to hear
	unled     time.Duration // the last instant at which somebody led, or this node did not follow
	vacant    time.Duration // since when nobody leads and nobody else stands; 0: somebody does
	mayEnd    bool          // its standing back for a reason of its own ends early if nobody else stands
	others    allowance     // for passing on heartbeats of candidates that were none of the first ones until then
	ended     bool          // no reign is left, and that was told

	all      map[wire.Subject]*candidate
	ranked   []*candidate  // those that stand and are valid, the first ones of the order
	forgetAt time.Duration // until then there is none to forget: a node looks four times a round

	suggested Suggestion
	changes   int
	paper     *paperSeat
}

func newSeat(c *Config, n Namespace) *seat {
	s := &seat{cfg: n, all: map[wire.Subject]*candidate{}, elector: map[wire.Subject]bool{}, others: newAllowance(mostBeats, 8, 0)}
	for _, e := range n.Electors {
		s.elector[e] = true
	}
	s.own.said.Subject, s.own.hash = c.Self, orderHash(n.Name, c.Self)
	s.beats = time.Duration(n.Every) * c.Round
	s.valid = time.Duration(2*n.Diameter) * s.beats
	if !s.isOpen() && !s.elector[c.Self] {
		s.state = Bystander
		s.valid = time.Duration(2*n.Diameter*n.crowdBeat()) * c.Round
	}
	if n.Policy == Paper {
		s.paper = newPaperSeat()
	}
	return s
}

// isOpen reports whether everybody may lead.
func (s *seat) isOpen() bool { return len(s.elector) == 0 }

// lacksLeader reports whether this node waits for the word of a leader which it can only be told.
func (s *seat) lacksLeader() bool {
	return s.state == Bystander && s.suggested.Leader == (wire.Subject{})
}

// sortedCandidates returns the candidates in an order that does not depend on chance.
func (s *seat) sortedCandidates() []*candidate {
	all := make([]*candidate, 0, len(s.all))
	for _, c := range s.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *candidate) int { return slices.Compare(a.said.Subject[:], b.said.Subject[:]) })
	return all
}

// addCandidate remembers a candidate, and reports whether there is room. Without electors anybody may be one, so there is room for so many; one
// whose last word is over makes room, since a copy of it counts no more. One whose word still counts is never forgotten: the next copy of
// it would be new here and passed on once more, and so at each node, for ever.
func (s *seat) addCandidate(c *candidate, now time.Duration) bool {
	if s.isOpen() && len(s.all) >= mostRested {
		var oldest *candidate
		for _, o := range s.sortedCandidates() {
			if oldest == nil || o.made < oldest.made {
				oldest = o
			}
		}
		if now-oldest.made <= s.valid {
			return false
		}
		s.dropCandidate(oldest)
		delete(s.all, oldest.said.Subject)
	}
	s.all[c.said.Subject] = c
	return true
}

// placeCandidate puts a candidate where it belongs among the first ones, and reports whether it is one of them. One that has to leave for it
// is remembered all the same.
func (s *seat) placeCandidate(c *candidate) bool {
	s.dropCandidate(c)
	if !s.mayRank(c) {
		return false
	}
	at := 0
	for at < len(s.ranked) && s.ranked[at].comesBefore(c) {
		at++
	}
	if at >= s.mostRanked() {
		return false
	}
	s.ranked = slices.Insert(s.ranked, at, c)
	s.ranked = s.ranked[:min(len(s.ranked), s.mostRanked())]
	return true
}

// mostRanked is how many candidates are kept in order.
func (s *seat) mostRanked() int {
	if s.isOpen() {
		return standbys
	}
	return mostElectors
}

// wouldRank reports whether a subject that is not known yet would be one of the first.
func (s *seat) wouldRank(c *candidate) bool {
	return s.mayRank(c) && (len(s.ranked) < s.mostRanked() || c.comesBefore(s.ranked[len(s.ranked)-1]))
}

func (s *seat) dropCandidate(c *candidate) {
	if at := slices.Index(s.ranked, c); at >= 0 {
		s.ranked = slices.Delete(s.ranked, at, at+1)
	}
}

// mayRank reports whether a candidate has a place in the order.
func (s *seat) mayRank(c *candidate) bool { return c.beat.Stands }

// candidate is a subject of a namespace, as its newest heartbeat has it.
type candidate struct {
	said      wire.Said
	beat      wire.Heartbeat
	name      wire.Name
	hash      uint64
	made      time.Duration // when it was said, on this node's clock, by the age of the first copy
	first     time.Duration // when the first heartbeat of its incarnation was said
	twinQuiet time.Duration // until then its twin is not told of again
	last      life          // the one before this incarnation; zero: none is known
	beats     allowance     // for passing its heartbeats on, while it is one of the first ones
	direct
}

// life is how far a subject came in an incarnation, as far as this node has heard.
type life struct{ incarnation, sequence uint64 }

// goesOn reports whether a statement shows that an earlier life goes on beside this one. What it had said before is known,
// and anybody may bring it again. Of a life that this node has not heard only another host shows that.
func (c *candidate) goesOn(said *wire.Said, host string) bool {
	if said.Incarnation == c.last.incarnation {
		return said.Sequence > c.last.sequence
	}
	return host != c.beat.Host
}

// comesBefore reports whether one candidate comes before another: by reign, then by seniority, then by hash. It is a total
// order of all subjects, so that a tie is no reason to pick one at random (B3).
func (c *candidate) comesBefore(o *candidate) bool {
	if by := cmp.Or(cmp.Compare(o.beat.Reign, c.beat.Reign), cmp.Compare(o.beat.Seniority, c.beat.Seniority), cmp.Compare(c.hash, o.hash)); by != 0 {
		return by < 0
	}
	return bytes.Compare(c.said.Subject[:], o.said.Subject[:]) < 0
}

// orderHash is the part of the order that depends on the name alone, and differs from namespace to namespace.
func orderHash(namespace string, s wire.Subject) uint64 {
	b := append([]byte("conch gossip order 1\n"+namespace+"\n"), s[:]...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
