package hint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// swarm is some machines that are connected at random. What one sends arrives at once, a little later than all that was sent before.
type swarm struct {
	machines []*Machine
	now      time.Duration
	line     []letter
	passed   int
}

type letter struct {
	from, to string
	parcel   wire.Parcel
}

func newSwarm(n, degree int, chance *rand.Rand) *swarm {
	c := &swarm{}
	links := make([]map[int]bool, n)
	for i := range n {
		name := fmt.Sprint("m", i)
		c.machines = append(c.machines, New(Config{
			Self: named(name), Incarnation: 1, Scheme: honest{named(name)}, Namespaces: []Namespace{{Name: "site"}},
		}))
		links[i] = map[int]bool{}
	}
	for i := range n {
		for _, j := range append(chance.Perm(n)[:degree/2], (i+1)%n) {
			if i != j {
				links[i][j], links[j][i] = true, true
			}
		}
	}
	for i, m := range c.machines {
		var peers []Peer
		for j := range n {
			if links[i][j] {
				peers = append(peers, Peer{Name: fmt.Sprint("m", j), Subject: named(fmt.Sprint("m", j))})
			}
		}
		peers = append(peers, Peer{Name: "guest", Subject: named("guest")})
		m.Step(0, Arcs{Peers: peers})
	}
	return c
}

// settles delivers until nothing is on its way, or so many messages were passed on.
func (c *swarm) settles(most int) bool {
	for len(c.line) > 0 && c.passed < most {
		l := c.line[0]
		c.line = c.line[1:]
		if l.to == "guest" {
			continue
		}
		c.now += 20 * time.Microsecond // the words are all valid to the end, and what a node may pass on in a round is there again
		i := slices.IndexFunc(c.machines, func(m *Machine) bool { return m.cfg.Self == named(l.to) })
		for _, s := range of[Send](c.machines[i].Step(c.now, Received{From: l.from, Parcel: l.parcel})) {
			for _, to := range s.To {
				c.passed++
				c.line = append(c.line, letter{l.to, to, s.Parcel})
			}
		}
	}
	return len(c.line) == 0
}

func of[A Action](all []Action) (out []A) {
	for _, a := range all {
		if is, ok := a.(A); ok {
			out = append(out, is)
		}
	}
	return out
}

// beatOf returns a heartbeat.
func beatOf(name string, life, reign, seniority uint64) wire.Said {
	beat := wire.Heartbeat{Stands: true, Wide: true, Reign: reign, Leads: reign > 0, Seniority: seniority, Host: "host"}
	s := wire.Said{Statement: wire.Statement{Subject: named(name), Incarnation: life, Sequence: 1, Namespace: "site", Body: beat.Body()}}
	s.Signature = honest{s.Subject}.Sign(s.Signed())
	return s
}

// Whatever is said, and in whichever order its copies come, each node passes each word on once, so all is quiet soon (B3). Here a leader
// was started again: what it said last, and the first word of its new life, push each other, and one of the other four, from the first
// places. A word that was forgotten with its place would be new again with its next copy, at each node, for ever.
func TestWordsAreNotPassedOnForEver(t *testing.T) {
	t.Parallel()
	storm := []wire.Said{
		beatOf("a", 1, 0, 9), beatOf("b", 1, 0, 9), beatOf("c", 1, 0, 9), beatOf("x", 2, 0, 0), beatOf("x", 1, 6, 0), beatOf("d", 1, 0, 1),
	}
	var many []wire.Said // more than a list has room for
	for i := range 2 * mostRested {
		many = append(many, beatOf(fmt.Sprint("junk", i), 1, uint64(i+1), 0), beatOf(fmt.Sprint("junk", i), 2, 0, 0))
	}
	for name, said := range map[string][]wire.Said{"two lives": storm, "many": many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				chance := rand.New(rand.NewPCG(seed, 2))
				c := newSwarm(30, 6, chance)
				links := 0
				for _, m := range c.machines {
					links += len(m.listed)
				}
				for i := range 5 {
					for _, s := range shuffled(said, chance) {
						c.line = append(c.line, letter{"guest", fmt.Sprint("m", i*3), wire.Parcel{Said: []wire.Said{s}}})
					}
				}
				if most := len(said) * links; !c.settles(most) {
					t.Fatalf("seed %d: %d words are passed on more than %d times by 30 nodes", seed, len(said), most)
				}
			}
		})
	}
}

func shuffled(said []wire.Said, chance *rand.Rand) []wire.Said {
	out := slices.Clone(said)
	chance.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// A list that is full of words that count forgets none of them for a new one: its next copy would be new, and be passed on once more.
func TestAFullListForgetsNothingThatCounts(t *testing.T) {
	t.Parallel()
	m := crowded(3)
	var all []wire.Said
	for i := range mostRested {
		all = append(all, invented(fmt.Sprint("s", i), 1, "", 0, wire.Heartbeat{Stands: true, Seniority: uint64(i + 1)}.Body()))
	}
	now := time.Duration(0)
	for i := range all {
		if i%mostBeats == 0 {
			now += m.cfg.Round
		}
		m.brings(now, "p0", all[i])
	}
	if n := len(m.order[0].all); n != mostRested {
		t.Fatalf("%d candidates are known", n)
	}
	if sends := of[Send](m.brings(now+m.cfg.Round, "p1", invented("one more", 1, "", 0, wire.Heartbeat{Stands: true, Seniority: 1000}.Body()))); len(sends) > 0 {
		t.Errorf("a word for which there is no place is passed on: %+v", sends)
	}
	for _, s := range all {
		s.Age = 1
		if sends := of[Send](m.brings(now+m.cfg.Round, "p2", s)); len(sends) > 0 {
			t.Fatalf("a copy of %q is passed on", s.Subject)
		}
	}
	later := now + m.order[0].valid + 2*m.cfg.Round // then none of them counts
	m.brings(later, "p1", invented("one more", 2, "", 0, wire.Heartbeat{Stands: true, Seniority: 1000}.Body()))
	if m.order[0].all[named("one more")] == nil || len(m.order[0].all) > mostRested {
		t.Errorf("a new word finds no place among %d old ones", len(m.order[0].all))
	}
}

// A candidate that had to leave the first places comes back by a copy of its word, when others have left in turn, and is not passed on again.
func TestACopyGivesAPlaceBack(t *testing.T) {
	t.Parallel()
	m := crowded(3)
	m.brings(0, "p0", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Seniority: 1}.Body()))
	for i := range uint64(standbys) {
		m.brings(0, "p0", invented(fmt.Sprint("s", i), 1, "", 0, wire.Heartbeat{Stands: true, Seniority: 9}.Body()))
	}
	placed := func() bool {
		return slices.ContainsFunc(m.order[0].ranked, func(c *candidate) bool { return c.said.Subject == named("a") })
	}
	if placed() {
		t.Fatal("it has a place among more senior ones")
	}
	m.brings(1, "p0", invented("s0", 2, "", 0, wire.Heartbeat{Seniority: 9}.Body()))
	again := m.brings(2, "p1", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Seniority: 1}.Body()))
	if sends := of[Send](again); !placed() || len(sends) > 0 {
		t.Errorf("it has a place is %v, and its copy is passed on %d times", placed(), len(sends))
	}
}

// signaturesEach is how many signatures of one peer are verified in a round.
const signaturesEach = freshNews/2 + standbys*beatsEach + mostBeats

// counted counts the signatures that are verified.
type counted struct {
	Scheme

	verified int
}

func (c *counted) Verify(by wire.Subject, b, signature []byte) bool {
	c.verified++
	return c.Scheme.Verify(by, b, signature)
}

// forged is a statement that its subject has not signed.
func forged(subject string, incarnation, sequence uint64, topic string, body []byte) wire.Said {
	s := invented(subject, sequence, topic, 0, body)
	s.Incarnation, s.Signature = incarnation, []byte(fmt.Sprint("forged ", sequence))
	return s
}

// Whatever a peer brings, few signatures of it are verified in a round: those of known candidates and of electors, of copies that differ,
// of this node's own words, of news under a known key, and of votes too. To verify one takes a hundred times as long as everything else.
func TestNothingIsVerifiedWithoutEnd(t *testing.T) {
	t.Parallel()
	beat := wire.Heartbeat{Stands: true, Leads: true, Reign: 1, Host: "host"}.Body()
	known := []wire.Said{invented("a", 1, "", 0, beat), invented("a", 2, "flag", 0, nil)}
	for name, c := range map[string]struct {
		space Namespace
		said  func(n uint64) wire.Said
	}{
		"a known candidate's": {Namespace{}, func(n uint64) wire.Said { return forged("a", 1, 9+n, "", beat) }},
		"an elector's":        {Namespace{Electors: []wire.Subject{named("a"), named("b"), named("z")}}, func(n uint64) wire.Said { return forged("b", 1, 9+n, "", beat) }},
		"a copy's": {Namespace{}, func(n uint64) wire.Said {
			s := forged("a", 1, 1, "", beat)
			s.Signature = fmt.Append(nil, n)
			return s
		}},
		"its own":            {Namespace{}, func(n uint64) wire.Said { return forged("z", 2, n, "", beat) }},
		"its own news":       {Namespace{}, func(n uint64) wire.Said { return forged("z", 2, n, "flag", nil) }},
		"known news":         {Namespace{}, func(n uint64) wire.Said { return forged("a", 1, 9+n, "flag", nil) }},
		"the peer's votes":   {Namespace{Policy: Paper}, func(n uint64) wire.Said { return invented("p0", 9+n, "", 0, wire.Vote{Leader: named("a")}.Body()) }},
		"the peer's, a rest": {Namespace{}, func(n uint64) wire.Said { return invented("p0", 9+n, "", 0, wire.Heartbeat{Host: "host"}.Body()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.space.Name = "site"
			counting := &counted{Scheme: honest{named("z")}}
			m := New(Config{Self: named("z"), Incarnation: 1, Scheme: counting, Namespaces: []Namespace{c.space}})
			m.Step(0, Arcs{Peers: []Peer{{Name: "p0", Subject: named("p0")}, {Name: "a", Subject: named("a")}}})
			m.brings(0, "a", known...)
			counting.verified = 0
			n := uint64(0)
			const rounds = 20
			for i := range rounds {
				now := time.Duration(i+1) * m.cfg.Round
				for range 20 {
					var all []wire.Said
					for range 12 {
						n++
						all = append(all, c.said(n))
					}
					m.brings(now, "p0", all...)
				}
			}
			if most := (rounds + 8) * (freshNews + mostBeats); counting.verified > most {
				t.Errorf("of %d statements %d were verified, want %d at most", n, counting.verified, most)
			}
		})
	}
}

// The news of many peers that has no room in a round is not verified in vain: each of them alone is within what it may cost.
func TestNewsWithoutRoomIsNotVerified(t *testing.T) {
	t.Parallel()
	const peers, rounds = 8, 20
	m := crowded(peers)
	counting := &counted{Scheme: m.cfg.Scheme}
	m.cfg.Scheme = counting
	n := 0
	for i := range rounds {
		now := time.Duration(i+1) * m.cfg.Round
		for p := range peers {
			for range freshNews {
				n++
				m.brings(now, fmt.Sprint("p", p), invented(fmt.Sprint("s", n), 1, "t", 0, nil))
			}
		}
	}
	if most := (rounds + 8) * freshNews; counting.verified > most {
		t.Errorf("of %d pieces %d were verified, and %d have room", n, counting.verified, most)
	}
	// A peer that forges takes no room from the others.
	now := time.Duration(rounds+1) * m.cfg.Round
	for i := range uint64(2 * freshNews) {
		m.brings(now, "p0", forged("a", 1, i+1, "t", nil))
	}
	if n := heardIn(m.brings(now, "p1", invented("b", 1, "flag", 0, nil))); n != 1 {
		t.Error("news is left out for what others have forged")
	}
}

// A flood of news takes nothing from the heartbeats that the same peer brings: a relay of the flood is a relay of the leader's, too.
func TestNewsLeavesNoHeartbeatOut(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	var all []wire.Said
	for i := range 8 * mostBrought / 2 {
		all = append(all, invented(fmt.Sprint("s", i), 1, "t", 0, nil))
	}
	m.brings(0, "p0", all...)
	m.brings(0, "p0", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("among all that news the leader is %q", nameOf(got))
	}
}

// A heartbeat that an elector brings itself counts, whatever else it brings for others.
func TestAnElectorsOwnWordGoesFirst(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a"), named("z")}}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}}})
	for i := range uint64(8 * mostBrought / 2) {
		m.brings(0, "a", forged("z", 2, i+1, "", nil))
	}
	m.brings(0, "a", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("the leader is %q", nameOf(got))
	}
}

// What a peer sends is decoded only while it may cost something, whatever it is: most of it is refused for that, and not for what it holds.
func TestNothingIsDecodedWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"garbage": []byte("garbage"), "nothing": nil, "much": make([]byte, 100*paysFor), "marks": marked(t),
	} {
		m := crowded(2)
		const sent = 9 * mostBrought
		told := 0
		for range sent {
			for _, a := range m.Step(0, Message{From: "p0", Body: body}) {
				if r, is := a.(Refused); is && errors.Is(r.Why, ErrFlood) {
					told++
				}
			}
		}
		most := 8 * mostBrought / (1 + len(body)/paysFor)
		if read := sent - m.Refusals()[ErrFlood]; read > most || told != 1 {
			t.Errorf("%s: of %d messages %d were decoded, want %d at most; that it is too much was said %d times", name, sent, read, most, told)
		}
		m.Step(0, Message{From: "p1", Body: body})
		if m.Refusals()[ErrFlood]+most != sent {
			t.Errorf("%s: the other peer has nothing left", name)
		}
	}
}

// marked is a parcel that asks for nothing, and takes long to be decoded.
func marked(t *testing.T) []byte {
	b, err := wire.Encode(wire.Parcel{Marks: make([]wire.Mark, wire.MostMarks)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
