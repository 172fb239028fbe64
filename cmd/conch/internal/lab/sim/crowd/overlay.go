package crowd

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
)

// peer is a node as the overlay knows it.
func (n *node) peer() spray.Peer {
	return spray.Peer{Name: n.name, Address: fmt.Sprintf("10.0.%d.%d:7946", n.index>>8, n.index&0xff)}
}

// joins starts a process with its place in the overlay. It knows nothing of its last life.
func (n *node) joins() {
	r := n.r
	n.lives++
	n.up, n.paused, n.dark, n.undated = true, false, false, 0
	n.m, n.ends, n.waits, n.words, n.door, n.soon = nil, nil, nil, nil, door{}, agent.Soon
	n.dials, n.tries, n.asked = map[*node]uint64{}, map[*node]try{}, map[*node]bool{}
	c := spray.Config{Self: n.peer(), Incarnation: r.w.Draw() | 1, Seed: r.w.Draw()}
	for _, o := range r.contacts {
		if o != n {
			c.Contacts = append(c.Contacts, o.peer())
		}
	}
	n.s = spray.New(c)
	n.second()
	n.seconds(n.lives)
}

// second is what a process does once a second: the overlay's Tick; and an elector looks for the others.
func (n *node) second() {
	r := n.r
	for _, o := range r.nodes[:r.cfg.Electors] {
		if o == n || !n.elector || n.end(o) != nil || n.dials[o] > 0 {
			continue
		}
		t := n.tries[o]
		if t.wait--; t.wait <= 0 {
			r.dial(n, o)
		}
		n.tries[o] = t
	}
	n.overlay(spray.Tick{})
}

// seconds has a process do that again and again, and sooner while it has just started and finds nobody, as an agent does.
func (n *node) seconds(life int) {
	s := n.r.second
	if n.soon > 0 {
		s /= agent.Soon
	}
	n.r.w.After(n.clock.For(n.r.w.Between(s*8/10, s*12/10)), func() {
		if n.lives != life || !n.up {
			return
		}
		n.soon--
		if !n.paused && (n.soon <= 0 || len(n.ends)+len(n.dials) == 0) {
			n.second()
		}
		n.seconds(life)
	})
}

func (n *node) overlay(in spray.Input) {
	if !n.up || n.paused {
		return
	}
	for _, a := range n.s.Step(in) {
		n.connects(a)
	}
}

// connects does what the overlay wants.
func (n *node) connects(a spray.Action) {
	r := n.r
	switch a := a.(type) {
	case spray.Connect:
		to := r.byName[a.Peer.Name]
		n.asked[to] = true
		switch {
		case n.end(to) != nil:
			r.w.After(1, func() { n.does(func() { n.uses(to) }) })
		case n.dials[to] == 0:
			r.dial(n, to)
		}
	case spray.Disconnect:
		to := r.byName[a.Peer]
		delete(n.asked, to)
		switch e := n.end(to); {
		case n.keeps(to):
			if e != nil {
				e.told = false
			}
		case e != nil:
			r.hangUp(n, e)
		default:
			delete(n.dials, to)
		}
	case spray.Send:
		r.tellOverlay(n, r.byName[a.To], a.Message)
	case spray.Refused:
		r.stats["overlay_refused"]++
		r.w.Note(n.name, string(a.Why), 0)
	}
}

// tellOverlay sends a message of the overlay.
func (r *run) tellOverlay(n, to *node, msg spray.Message) {
	if n.m != nil { // before that the crowd has not begun
		b, err := spraywire.Encode(msg)
		if !r.check(err == nil, WellFormed, "%s sends what nobody reads: %v", n.name, err) {
			return
		}
		r.sent(n, int64(len(b)))
		r.stats["overlay_bytes"] += int64(len(b))
		if r.packs {
			read, err := spraywire.Decode(b)
			r.check(err == nil, WellFormed, "%s cannot read what %s sends: %v", to.name, n.name, err)
			msg = read
		}
	}
	r.carry(n, to, func() {
		to.uses(n) // the other overlay has asked for the connection that electors have
		to.overlay(spray.Received{From: n.name, Message: msg})
	})
}

// gather lets the overlay grow before the crowd begins. It grows by a fiftieth a second, as fast as views keep up with:
// nodes that join at one time find views that are too small.
func (r *run) gather() {
	all := slices.Concat(r.contacts, slices.DeleteFunc(slices.Clone(r.nodes), func(n *node) bool { return slices.Contains(r.contacts, n) }))
	r.grows = true
	for i, n := range all {
		n.joins()
		r.lets(min(2*r.second, 50*r.second/time.Duration(i+1)))
	}
	r.lets(60 * r.second)
	r.grows = false
}

// lets lets time pass.
func (r *run) lets(d time.Duration) {
	for end := r.w.Now() + d; ; r.w.Step() {
		if next, is := r.w.Next(); !is || next > end {
			return
		}
	}
}

// measure notes what the overlay is like.
func (r *run) measure() {
	arcs, neighbours, most, up := 0, 0, 0, 0
	for _, n := range r.nodes {
		if n.up {
			s := n.s.Snapshot()
			up, arcs, neighbours, most = up+1, arcs+s.Arcs+s.Given, neighbours+len(n.ends), max(most, len(n.ends))
		}
	}
	if up > 0 {
		r.stats["arcs_hundredths_max"], r.stats["neighbours_tenths_max"] = int64(100*arcs/up), int64(10*neighbours/up)
	}
	r.stats["neighbours_max"] = int64(most)
}
