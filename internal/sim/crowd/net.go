package crowd

import (
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
)

// leastArcs is how many live neighbours a node looks for.
const leastArcs = 5

// graph links the nodes at random, each with about 2 (Hₙ − ½) others, as the overlay does, and the electors all to all.
func (r *run) graph() {
	if len(r.nodes) <= leastArcs+1 {
		for i, a := range r.nodes {
			for _, b := range r.nodes[:i] {
				r.link(a, b)
			}
		}
		return
	}
	for i := 1; i < len(r.nodes); i++ { // so that no part is left out
		r.link(r.nodes[i], r.nodes[r.w.Pick(i)])
	}
	for _, a := range r.nodes {
		for len(a.arcs) < leastArcs {
			r.link(a, r.nodes[r.w.Pick(len(r.nodes))])
		}
	}
	wanted := int(float64(len(r.nodes)) * (harmonic(len(r.nodes)) - 0.5))
	for have := r.arcCount(); have < wanted; have = r.arcCount() {
		for range wanted - have {
			r.link(r.nodes[r.w.Pick(len(r.nodes))], r.nodes[r.w.Pick(len(r.nodes))])
		}
	}
	r.mesh()
}

func (r *run) mesh() {
	for i, a := range r.nodes {
		for _, b := range r.nodes[:i] {
			if a.elector && b.elector {
				r.link(a, b)
			}
		}
	}
}

func (r *run) arcCount() (n int) {
	for _, a := range r.nodes {
		n += len(a.arcs)
	}
	return n / 2
}

func harmonic(n int) (h float64) {
	for i := 1; i <= n; i++ {
		h += 1 / float64(i)
	}
	return math.Max(h, 1)
}

// mend gives a node new neighbours if it has too few, and tells it.
func (r *run) mend(n *node) {
	var others []*node
	for _, o := range r.nodes {
		if o != n && o.up && !slices.Contains(n.arcs, o) {
			others = append(others, o)
		}
	}
	for len(n.arcs) < leastArcs && len(others) > 0 {
		i := r.w.Pick(len(others))
		o := others[i]
		others = slices.Delete(others, i, i+1)
		r.link(n, o)
		o.linked()
	}
	for _, o := range others {
		if n.elector && o.elector {
			r.link(n, o)
			o.linked()
		}
	}
	n.linked()
}

// send sends a parcel to each receiver.
func (r *run) send(n *node, a gossip.Send) {
	size := int64(a.Parcel.Size())
	var packed []byte
	if r.packs {
		b, err := wire.Encode(a.Parcel)
		if !r.check(err == nil, WellFormed, "%s sends what nobody reads: %v", n.name, err) {
			return
		}
		packed, size = b, int64(len(b))
	}
	for _, name := range a.To {
		to := r.byName[name]
		r.stats["messages"]++
		r.stats["bytes"] += size
		n.bytes += size
		if r.cut(n, to) {
			continue
		}
		wait := r.w.Between(round/50, round/5)
		switch {
		case r.cfg.Loss == 0:
		case r.cfg.Stalls:
			wait = r.stall(n, to, wait)
		case r.w.Chance(float64(r.cfg.Loss) / 100):
			continue
		}
		r.w.After(wait, func() { r.deliver(n, to, a.Parcel, packed) })
	}
}

// stall returns when a message arrives on a connection that repeats what is lost: after two rounds, then four, and so
// on. What is sent meanwhile waits for it, and comes with it.
func (r *run) stall(n, to *node, wait time.Duration) time.Duration {
	if n.held == nil {
		n.held = map[*node]time.Duration{}
	}
	if n.held[to] <= r.w.Now() {
		for again := 2 * round; r.w.Chance(float64(r.cfg.Loss)/100) && again < 64*round; again *= 2 {
			n.held[to] = max(n.held[to], r.w.Now()) + again
		}
	}
	at := max(r.w.Now()+wait, n.held[to]+1)
	n.held[to] = max(n.held[to], at)
	return at - r.w.Now()
}

func (r *run) deliver(from, to *node, p wire.Parcel, packed []byte) {
	if !to.up || to.paused || r.cut(from, to) || !slices.Contains(to.arcs, from) {
		return
	}
	if packed != nil {
		read, err := wire.Decode(packed)
		if err != nil {
			to.step(gossip.Faulty{From: from.name, Why: err})
			return
		}
		p = read
	}
	to.step(gossip.Received{From: from.name, Parcel: p})
}

// cut reports whether nothing gets from one node to another.
func (r *run) cut(from, to *node) bool {
	return from.mute || to.deaf || from.side != to.side || r.oneWay[[2]*node{from, to}]
}
