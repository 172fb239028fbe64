package crowd

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
)

// send sends a parcel to each receiver.
func (r *run) send(n *node, a gossip.Send) {
	if r.cfg.Break == ageTravels {
		a.Parcel.Said = slices.Clone(a.Parcel.Said)
		for i := range a.Parcel.Said {
			a.Parcel.Said[i].Age = 0
		}
	}
	size := int64(a.Parcel.Size())
	var in gossip.Input = gossip.Received{From: n.name, Parcel: a.Parcel}
	if r.packs {
		b, err := wire.Encode(a.Parcel)
		if !r.check(err == nil, WellFormed, "%s sends what nobody reads: %v", n.name, err) {
			return
		}
		size = int64(len(b))
		in = gossip.Message{From: n.name, Body: b}
	}
	r.passes(n, a)
	words := n.tells()
	for _, name := range a.To {
		to := r.byName[name]
		r.sent(n, size)
		r.carry(n, to, func() {
			r.deliver(to, in, words)
		})
	}
}

// word is a heartbeat, as it is told from another one.
type word struct {
	subject               wire.Subject
	incarnation, sequence uint64
}

// passes judges what a node passes on. A heartbeat alone, for several peers, is no answer to one of them.
func (r *run) passes(n *node, a gossip.Send) {
	if len(r.nodes) > 200 || r.cfg.Break != "" || len(a.To) < 2 || len(a.Parcel.Said) != 1 {
		return
	}
	s := &a.Parcel.Said[0]
	if s.Topic != "" || s.Subject == n.subject {
		return
	}
	key := word{s.Subject, s.Incarnation, s.Sequence}
	r.check(!n.passed[key], PassedOnce, "%s passes word %d of %s on once more", n.name, s.Sequence, r.bySubject[s.Subject].name)
	n.passed[key] = true
}

// noise counts the messages of ten rounds at a time. Those of the second ten, when nothing has happened yet, are what a crowd says at rest.
type noise struct{ ten, said, rest int }

// loudest is how much more than at rest a crowd says, whatever happens to it and whoever says what. Half of that was measured.
const loudest = 3

// listen judges how many messages there are. A crowd that is too loud is told of more than once, so that a run without end has one.
func (r *run) listen() {
	if r.grows || r.cfg.Break != "" {
		return
	}
	c := &r.noise
	if ten := int(r.now() / (10 * round)); ten != c.ten {
		if c.ten == 1 {
			c.rest = c.said
		}
		c.ten, c.said = ten, 0
	}
	c.said++
	most := loudest*c.rest + 10*len(r.nodes)
	r.check(c.rest == 0 || c.said%most > 0, NoStorm, "within ten rounds %d messages were sent, and %d at rest", c.said, c.rest)
}

func (r *run) sent(n *node, size int64) {
	r.listen()
	r.stats["messages"]++
	r.stats["bytes"] += size
	n.bytes += size
}

// delay is how long a message takes.
func (r *run) delay() time.Duration { return r.w.Between(round/50, round/5) }

// carry takes a message over the connection between two nodes, unless it is lost.
func (r *run) carry(n, to *node, arrive func()) {
	e := n.end(to)
	if e == nil || r.cut(n, to) {
		return
	}
	l, wait := e.link, r.delay()
	switch {
	case r.cfg.Loss == 0 || r.grows:
	case r.cfg.Stalls:
		wait = r.stall(l, n, wait)
	case r.w.Chance(float64(r.cfg.Loss) / 100):
		return
	}
	last := &l.last[l.says(n)]
	*last = max(*last, r.w.Now()+wait)
	r.w.After(wait, func() {
		if to.up && !r.cut(n, to) {
			if e := to.end(n); e != nil && e.link == l {
				to.does(arrive)
			}
		}
	})
}

// stall returns when a message arrives on a connection that repeats what is lost: after two rounds, then four, and so
// on. What is sent meanwhile waits for it, and comes with it.
func (r *run) stall(l *link, n *node, wait time.Duration) time.Duration {
	held := &l.held[l.says(n)]
	if *held <= r.w.Now() {
		for again := 2 * round; r.w.Chance(float64(r.cfg.Loss)/100) && again < 64*round; again *= 2 {
			if *held <= r.w.Now() {
				l.slow[l.says(n)] = r.w.Now()
			}
			*held = max(*held, r.w.Now()) + again
		}
	}
	at := max(r.w.Now()+wait, *held+1)
	*held = max(*held, at)
	return at - r.w.Now()
}

func (r *run) deliver(to *node, in gossip.Input, words []time.Duration) {
	if r.w.Now() < to.undated {
		return // it is thrown away, and has told nothing
	}
	to.learns(words)
	to.step(in)
	to.sooner()
}

// cut reports whether nothing gets from one node to another.
func (r *run) cut(from, to *node) bool {
	return from.mute || to.deaf || from.side != to.side || r.oneWay[[2]*node{from, to}]
}
