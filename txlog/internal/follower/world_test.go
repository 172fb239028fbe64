package follower

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
)

// crowd is a small world: a member, followers, one that lies and one that brings heads and answers nobody. Messages get lost,
// come twice and overtake each other, nodes restart with what they have stored, and the members change twice.
type crowd struct {
	t         testing.TB
	rng       *rand.Rand
	now       time.Duration
	line      *line
	fork      *line
	committed uint64
	nodes     map[string]*copyist
	names     []string // of those that do not lie
	queue     []mail
	plain     bool // nobody has snapshots, or asks for news: what is missed has to be pulled
	calm      bool
	wrong     string // the first violation
}

type mail struct {
	to string
	in Input
}

// copyist is a node and its store.
type copyist struct {
	m       *Machine
	stored  uint64
	head    txlog.Head
	bridges []Bridge
	offers  []Offer
}

const liar, mute, source = "liar", "mute", "source"

func newCrowd(t testing.TB, seed uint64) *crowd {
	t.Helper()
	c := &crowd{t: t, rng: rand.New(rand.NewPCG(seed, 25)), now: time.Hour, plain: seed%2 == 1, nodes: map[string]*copyist{}}
	c.line = newLine(t, "anna", "ben", "cleo").goals(99, "goal").change("ben", "cleo", "dora").goals(199, "goal").change("dora", "emil", "fritz").goals(300, "goal")
	c.fork = c.line.fork(20).goals(300, "fork")
	c.names = []string{source, "one", "two", "three", "four"}
	for _, name := range c.names {
		c.nodes[name] = &copyist{}
		c.start(name)
	}
	return c
}

func (c *crowd) start(name string) {
	n := c.nodes[name]
	cfg := Config{
		Self: name, Base: c.line.copyAt(n.stored), New: newBoard, Member: name == source, First: 1, Head: n.head, Bridges: n.bridges,
		Offers: n.offers, Seed: c.rng.Uint64(), SnapshotAfter: 60, SnapshotEvery: 50,
	}
	if c.plain {
		cfg.SnapshotAfter, cfg.SnapshotEvery, cfg.poll = 1000, 1000, 1000*time.Hour
	}
	n.m = New(cfg)
	var peers []string
	for _, other := range append([]string{liar, mute}, c.names...) {
		if other != name {
			peers = append(peers, other)
		}
	}
	c.step(name, Peers{Names: peers})
}

func (c *crowd) step(name string, in Input) {
	for _, a := range c.nodes[name].m.Step(c.now, in) {
		c.perform(name, a)
	}
}

func (c *crowd) fail(text string, args ...any) {
	if c.wrong == "" {
		c.wrong = fmt.Sprintf(text, args...)
	}
}

func (c *crowd) perform(name string, a Action) {
	n := c.nodes[name]
	switch a := a.(type) {
	case Ask:
		c.send(a.To, Asked{From: name, Pull: a.Pull})
	case Give:
		if a.From > 0 {
			if name != source && a.Upto > n.stored {
				c.fail("%s gives entry %d of a store that ends at %d", name, a.Upto, n.stored)
				return
			}
			a.History.Records = c.line.from(a.From, a.Upto)
		}
		c.send(a.To, HistoryCame{From: name, History: a.History})
	case AskPiece:
		c.send(a.To, Wanted{From: name, Want: a.Want})
	case GivePiece:
		p := Piece{Want: a.Want}
		for _, o := range n.offers {
			if o.Head.Hash == a.Want.At {
				p.Bytes = c.line.copyAt(o.Head.Index).Snapshot()
			}
		}
		c.send(a.To, Received{From: name, Piece: p})
	case Apply:
		for _, r := range a.Records {
			if r.Index != n.stored+1 || r.Index > c.committed || r.Hash() != c.line.records[r.Index-1].Hash() {
				c.fail("%s applies entry %d after %d, and %d are committed", name, r.Index, n.stored, c.committed)
				return
			}
			n.stored++
		}
		n.head = a.Head
	case Adopt:
		if at := a.Offer.Head.Index; at <= n.stored || at > c.committed || a.Base.Position() != c.line.records[at-1].Position() {
			c.fail("%s goes from %d to a snapshot at %d", name, n.stored, at)
			return
		}
		n.stored, n.head, n.offers = a.Offer.Head.Index, a.Offer.Head, []Offer{a.Offer}
	case Keep:
		offer := SumPieces(a.Head, a.Photo.Bytes())
		n.offers = []Offer{offer}
		c.send(name, Kept{Offer: offer})
	case KeepBridge:
		n.bridges = append(n.bridges, a.Bridge)
	case Evidence:
		c.fail("%s has evidence against a log that has not forked", name)
	case Spoiled:
		c.fail("%s is spoiled: %v", name, a.Why)
	case Sign, Parked, Refused:
	}
}

// send puts a message on its way; the liar and the mute one get theirs at once.
func (c *crowd) send(to string, in Input) {
	switch {
	case to == liar:
		c.lies(in)
	case to != mute:
		c.queue = append(c.queue, mail{to, in})
	}
}

// lies is what the liar answers: entries of a log that never was, pieces that are wrong.
func (c *crowd) lies(in Input) {
	switch in := in.(type) {
	case Asked:
		a := History{Serial: in.Pull.Serial}
		if from, upto := max(in.Pull.From, 1), min(in.Pull.Upto, 300); from <= upto && c.rng.IntN(3) > 0 {
			a.Records = c.fork.from(from, min(upto, from+MostRecords-1))
		}
		if c.rng.IntN(2) == 0 {
			at := 1 + c.rng.Uint64N(300)
			o := SumPieces(c.fork.head(at, "mallory"), c.fork.copyAt(at).Snapshot())
			if c.rng.IntN(2) == 0 && c.committed > 0 {
				o.Head = c.line.head(c.committed, c.signer(c.committed))
			}
			a.Offer = &o
		}
		c.send(in.From, HistoryCame{From: liar, History: a})
	case Wanted:
		c.send(in.From, Received{From: liar, Piece: Piece{Want: in.Want, Bytes: c.fork.copyAt(30).Snapshot()}})
	default:
	}
}

// signer is a member who may sign a head of an index.
func (c *crowd) signer(at uint64) string {
	switch {
	case at <= 100: // also of the change itself
		return "anna"
	case at <= 200:
		return "ben"
	}
	return "emil"
}

// commit commits some entries, and tells some of the others of a head.
func (c *crowd) commit() {
	from := c.committed + 1
	c.committed = min(from+c.rng.Uint64N(12), 300)
	for _, edge := range []uint64{100, 200} { // a head of each change is said
		if from <= edge {
			c.committed = min(c.committed, edge)
		}
	}
	if from > c.committed {
		return
	}
	c.step(source, Applied{Records: c.line.from(from, c.committed)})
	h := c.line.head(c.committed, c.signer(c.committed))
	c.step(source, Signed{Head: h})
	for _, name := range c.names[1:] {
		if c.rng.IntN(3) > 0 || c.calm {
			via := append([]string{liar, mute}, c.names...)[c.rng.IntN(len(c.names)+2)]
			c.queue = append(c.queue, mail{name, Heard{Head: h, Via: via}})
		}
	}
}

// forge has the liar bring a head of its own, and records that nobody asked for.
func (c *crowd) forge() {
	name := c.names[1+c.rng.IntN(len(c.names)-1)]
	at := 25 + c.rng.Uint64N(200)
	c.queue = append(c.queue,
		mail{name, Heard{Head: c.fork.head(at, "mallory"), Via: liar}},
		mail{name, HistoryCame{From: liar, History: History{Serial: c.rng.Uint64N(50), Records: c.fork.from(at, at+5)}}})
}

// turn does one thing.
func (c *crowd) turn() {
	switch p := c.rng.IntN(100); {
	case p < 60 && len(c.queue) > 0:
		i := c.rng.IntN(len(c.queue))
		m := c.queue[i]
		switch lot := c.rng.IntN(20); {
		case c.calm || lot > 1:
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			c.step(m.to, m.in)
		case lot == 1: // it comes again
			c.step(m.to, m.in)
		default:
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
		}
	case p < 90:
		c.now += 5 * time.Millisecond
		c.step(c.names[c.rng.IntN(len(c.names))], Tick{})
	case c.calm:
	case p < 95:
		c.commit()
	case p < 98:
		c.forge()
	case p == 98:
		c.start(c.names[1+c.rng.IntN(len(c.names)-1)])
	}
}

// play runs a world and returns the first violation.
func play(t testing.TB, seed uint64) string {
	t.Helper()
	c := newCrowd(t, seed)
	for range 1500 {
		c.turn()
	}
	c.calm = true
	for c.committed < 300 {
		c.commit()
	}
	for i := range 400_000 {
		if i%100_000 == 0 { // gossip repairs what was lost
			for _, name := range c.names[1:] {
				c.queue = append(c.queue, mail{name, Heard{Head: c.line.head(300, "emil"), Via: source}})
			}
		}
		behind := ""
		for _, name := range c.names[1:] {
			if c.nodes[name].stored < 300 {
				behind = name
			}
		}
		if behind == "" || c.wrong != "" {
			break
		}
		c.turn()
	}
	for _, name := range c.names[1:] {
		if at := c.nodes[name].stored; at < 300 {
			c.fail("%s stays at %d of 300", name, at)
		}
	}
	return c.wrong
}

// V2, V6, B9, B15: whatever is lost, doubled, overtaken and lied about, followers are never ahead of what is committed, have the same
// entries, and come to the end of the log.
func TestWorld(t *testing.T) {
	t.Parallel()
	seeds := runtest.ByDay(uint64(10), 600)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if wrong := play(t, seed); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}
