package hint

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// from is a parcel of a peer.
func from(peer string, said ...wire.Said) Received {
	return Received{From: peer, Parcel: wire.Parcel{Said: said}}
}

// bystander is y, which is nowhere a candidate, in two namespaces.
func bystander() *Machine {
	electors := []wire.Subject{named("a"), named("b"), named("c")}
	return New(Config{
		Self: named("y"), Incarnation: 1, Scheme: honest{named("y")},
		Namespaces: []Namespace{{Name: "site", Electors: electors}, {Name: "other", Electors: electors[:1]}},
	})
}

// A node of the crowd has nothing to do until a heartbeat ends that decides whom it names, or a peer is to be asked.
func TestWhenThereIsSomethingToDo(t *testing.T) {
	t.Parallel()
	m := bystander()
	m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}}})
	if got := m.Due(); got != m.cfg.Round {
		t.Errorf("it has begun and names nobody, and a peer is to be asked at %v", got)
	}
	const age = 75
	for i := range 2 {
		old := claim(uint64(i + 1))
		old.Age, old.Namespace = age, m.order[i].cfg.Name
		old.Signature = honest{named("a")}.Sign(old.Signed())
		m.Step(100*time.Millisecond, from("a", old))
	}
	valid := 8 * time.Second
	ends := 100*time.Millisecond - age*m.cfg.Round + valid
	if got := m.Due(); got != ends+1 {
		t.Fatalf("a heartbeat ends at %v, and it is due at %v", ends, got)
	}
	m.Step(ends, Tick{})
	if m.order[0].suggested.Leader != named("a") {
		t.Error("it was forgotten too early")
	}
	m.Step(m.Due(), Tick{})
	if now := m.order[0].suggested; now.Leader != (wire.Subject{}) || m.Due() <= ends+1 {
		t.Errorf("it names %v, and is due at %v", now, m.Due())
	}
	m.Pass(3 * time.Second)
	if got := m.Snapshot()[0].Heard; got != -1 {
		t.Errorf("it was heard %v ago", got)
	}
}

// crowd feeds two machines of the crowd the same. One has a tick each quarter of a round, and the other one when it is due.
type crowd struct {
	t          *testing.T
	seed       uint64
	rng        *rand.Rand
	now        time.Duration
	often, due *Machine
	sequence   uint64
	ticks      [2]int // of the two
}

// Due never lies: what a machine of the crowd does, and names, is the same whether time passes each quarter of a round, or only
// when it says so; and then it has something else to wait for.
func TestDueNeverLies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		c := &crowd{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 27)), often: bystander(), due: bystander()}
		c.feed(Tick{})
		for end := 3 * time.Minute; c.now < end && !t.Failed(); {
			c.passes(time.Duration(c.rng.IntN(1+c.rng.IntN(1000))) * time.Millisecond)
			c.feed(c.happens())
		}
		if c.ticks[1]*3 > c.ticks[0] {
			t.Errorf("seed %d: %d ticks instead of %d", seed, c.ticks[1], c.ticks[0])
		}
	}
}

// passes lets time pass.
func (c *crowd) passes(d time.Duration) {
	const step = 5 * time.Millisecond
	for end := c.now + d; c.now < end; {
		c.now += step
		switch {
		case c.now >= c.due.Due():
			c.ticks[0]++
			c.ticks[1]++
			c.feed(Tick{})
			if c.due.Due() <= c.now {
				c.t.Fatalf("seed %d: at %v it is due at %v again", c.seed, c.now, c.due.Due())
			}
		case c.now%(5*step) == 0:
			c.ticks[0]++
			if out := c.often.Step(c.now, Tick{}); len(out) > 0 {
				c.t.Fatalf("seed %d: at %v it is due at %v, and does %+v", c.seed, c.now, c.due.Due(), out)
			}
		}
	}
}

// feed gives both the same, and compares what they do and know.
func (c *crowd) feed(in Input) {
	a, b := c.often.Step(c.now, in), c.due.Step(c.now, in)
	if len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
		c.t.Fatalf("seed %d: at %v %+v\nhas the one do\n%+v\nand the other\n%+v", c.seed, c.now, in, a, b)
	}
	for i, s := range c.often.order {
		if now := c.due.order[i].suggested; now != s.suggested {
			c.t.Fatalf("seed %d: at %v after %+v the one names %+v, and the other %+v", c.seed, c.now, in, s.suggested, now)
		}
	}
	if a, b := c.often.News(), c.due.News(); len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
		c.t.Fatalf("seed %d: at %v after %+v the one has the news\n%+v\nand the other\n%+v", c.seed, c.now, in, a, b)
	}
}

// happens draws an input.
func (c *crowd) happens() Input {
	peers := []string{"a", "b", "p", "q"}
	switch by := peers[c.rng.IntN(len(peers))]; c.rng.IntN(12) {
	case 0:
		all := Arcs{}
		for _, p := range peers[:max(c.rng.IntN(len(peers)+1), c.rng.IntN(len(peers)+1), c.rng.IntN(len(peers)+1))] {
			all.Peers = append(all.Peers, Peer{Name: p, Subject: named(p)})
		}
		return all
	case 1:
		return Received{From: by, Parcel: wire.Parcel{Opening: true}}
	case 2:
		return Publish{Namespace: "site", Topic: fmt.Sprint(c.rng.IntN(40)), Body: []byte("x")}
	case 3, 4, 5, 6:
		return from(by, c.says("s", fmt.Sprint(c.rng.IntN(300)), c.rng.IntN(c.rng.IntN(700)+1), nil))
	default:
		beat := wire.Heartbeat{Stands: c.rng.IntN(8) > 0, Wide: c.rng.IntN(4) > 0, Reign: c.rng.Uint64N(4)}
		beat.Leads = beat.Stands && c.rng.IntN(2) > 0
		return from(by, c.says([]string{"a", "b", "c", "d"}[c.rng.IntN(4)], "", c.rng.IntN(100), beat.Body()))
	}
}

// says is a statement, which may be older than another one.
func (c *crowd) says(who, topic string, age int, body []byte) wire.Said {
	c.sequence++
	s := wire.Said{Statement: wire.Statement{
		Subject: named(who), Incarnation: 1 + c.rng.Uint64N(2), Sequence: c.sequence - min(c.sequence, c.rng.Uint64N(3)),
		Namespace: []string{"site", "other"}[c.rng.IntN(2)], Topic: topic, Body: body,
	}, Age: int32(age)}
	s.Signature = honest{s.Subject}.Sign(s.Signed())
	return s
}
