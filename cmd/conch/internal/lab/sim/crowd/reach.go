package crowd

import (
	"slices"
	"time"
)

// known is for how long a leader has to be within reach until all know it.
const known = 8 * round

// reaches reports whether a leader can be heard. Without electors the node in question has to be within its reach, over
// connections that are there on both sides, were for some time, and are not cut. With electors a majority of them counts,
// to which it is connected directly: a node that takes a reign has to hear a majority too, and so hears of it.
func (r *run) reaches(from, to *node) bool {
	if r.cfg.Electors == 0 {
		return r.inReach(from, to, func(*node, *end) bool { return true })
	}
	heard := 1
	for _, e := range from.ends {
		if e.to.elector && e.to.serves && r.lasts(from, e, known) {
			heard++
		}
	}
	return heard > r.cfg.Electors/2
}

// comes reports whether something that a leader has said in the last half of a validity has come to a node, or could have: with electors
// by way of any messages between them. If not, connections have stalled for so long that nobody could tell whether it lives.
func (r *run) comes(from, to *node) bool {
	half := time.Duration(r.cfg.Diameter) * round
	if r.cfg.Electors == 0 {
		return r.inReach(from, to, func(n *node, e *end) bool {
			return e.link.streams[e.link.says(n)].Stalls(r.w.Now()) < half
		})
	}
	return to.words == nil || r.w.Now()-to.words[from.index] < half
}

// words are the instants at which each elector has said the last of what has come to this one, over however many others.
func (n *node) told() []time.Duration {
	if !n.r.cfg.Stalls || !n.elector {
		return nil
	}
	if n.words == nil {
		n.words = make([]time.Duration, n.r.cfg.Electors)
	}
	n.words[n.index] = n.r.w.Now()
	return slices.Clone(n.words)
}

// learns takes what another one has told.
func (n *node) learns(words []time.Duration) {
	if words == nil || n.told() == nil {
		return
	}
	for i, at := range words {
		n.words[i] = max(n.words[i], at)
	}
}

// inReach reports whether one node is within the reach of another, over connections that have lasted and fulfil a condition.
func (r *run) inReach(from, to *node, counts func(n *node, e *end) bool) bool {
	seen := map[*node]bool{from: true}
	for todo := []*node{from}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if at == to {
			return true
		}
		for _, e := range at.ends {
			if !seen[e.to] && r.lasts(at, e, r.valid()) && counts(at, e) {
				seen[e.to] = true
				todo = append(todo, e.to)
			}
		}
	}
	return false
}

// lasts reports whether a connection is there since some time.
func (r *run) lasts(n *node, e *end, wait time.Duration) bool {
	return r.w.Now()-e.link.born >= wait && r.carries(n, e)
}

// carries reports whether a connection is there on both sides, and what is said on it is heard.
func (r *run) carries(n *node, e *end) bool {
	if !e.to.up || e.to.paused || r.cut(n, e.to) {
		return false
	}
	other := e.to.end(n)
	return other != nil && other.link == e.link
}

// parts is in how many parts the living nodes are.
func (r *run) parts() (parts int) {
	seen := map[*node]bool{}
	for _, n := range r.nodes {
		if !n.up || seen[n] {
			continue
		}
		parts++
		seen[n] = true
		for todo := []*node{n}; len(todo) > 0; todo = todo[1:] {
			for _, e := range todo[0].ends {
				if !seen[e.to] && r.carries(todo[0], e) {
					seen[e.to] = true
					todo = append(todo, e.to)
				}
			}
		}
	}
	return parts
}

// whole wants the living nodes to be in one piece after some time.
func (r *run) whole(wait time.Duration) {
	r.w.After(wait, func() {
		parts := r.parts()
		r.Stats["parts_max"] = max(r.Stats["parts_max"], int64(parts))
		r.Check(parts <= 1, OnePiece, "%.0f seconds later the living nodes are in %d parts", float64(wait)/float64(r.second), parts)
	})
}
