package logworld

import (
	"time"

	"github.com/conchhq/conch/internal/world"
)

// door is one term's act door at one node, in true time.
type door struct {
	n           *node
	term        uint64
	from, until time.Duration
}

// opens judges a door that is promised to be open from one reading of a node's clock to another.
func (r *run) opens(n *node, term uint64, opens, until time.Duration) {
	now := r.w.Now()
	d := n.door
	if d == nil || d.term != term {
		r.shuts(n)
		d = &door{n: n, term: term, from: max(n.clock.When(int64(opens)), now)}
		n.door, r.doors = d, append(r.doors, d)
		r.Stats["doors"]++
	}
	end := n.clock.When(int64(until))
	if end == world.Never || end <= d.from {
		return
	}
	d.until = max(d.until, end)
	for _, other := range r.doors {
		if other.n != n && max(other.from, d.from) < min(other.until, d.until) {
			r.Check(false, OneDoor, "the act doors of %s in term %d and of %s in term %d are open at one time, for %s",
				n.name, term, other.n.name, other.term, min(other.until, d.until)-max(other.from, d.from))
		}
	}
	r.forgetDoors()
}

// shuts ends a node's door now.
func (r *run) shuts(n *node) {
	if n.door != nil {
		n.door.until = min(n.door.until, max(r.w.Now(), n.door.from))
		n.door = nil
	}
}

// forgetDoors drops the doors that nobody's can overlap any more.
func (r *run) forgetDoors() {
	kept := r.doors[:0]
	for _, d := range r.doors {
		if d.n.door == d || d.until > r.w.Now() {
			kept = append(kept, d)
		}
	}
	r.doors = kept
}

// mayAct reports whether a node's door is open now, by its own clock.
func (n *node) mayAct() bool {
	now := n.r.w.Now()
	return n.door != nil && n.door.from <= now && now < n.door.until
}
