package crowd

import (
	"slices"
	"time"
)

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
func (r *run) lets(d time.Duration) { r.w.Until(r.w.Now() + d) }

// measure notes what the overlay is like.
func (r *run) measure() {
	arcs, neighbours, most, up := 0, 0, 0, 0
	for _, n := range r.nodes {
		if n.up {
			s := n.status().Overlay
			up, arcs, neighbours, most = up+1, arcs+s.Arcs+s.Given, neighbours+len(n.ends), max(most, len(n.ends))
		}
	}
	if up > 0 {
		r.Stats["arcs_hundredths_max"], r.Stats["neighbours_tenths_max"] = int64(100*arcs/up), int64(10*neighbours/up)
	}
	r.Stats["neighbours_max"] = int64(most)
}
