package logworld

import (
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// Gossip is simple here: a node passes a newer head on to its neighbours when it first hears it, and each second it tells one of
// them the newest that it has. Who should lead is said by the world: the first member that others can reach.

const fewNeighbours = 5

// neighbours returns with whom a node has connections.
func (n *node) neighbours() (all []*node) {
	nodes := n.r.nodes
	if len(nodes) <= 2*fewNeighbours {
		return n.r.except(n)
	}
	seen := map[int]bool{n.index: true}
	for _, step := range [...]int{1, 2, 5, 11, 23} {
		for _, at := range [...]int{n.index + step, n.index - step} {
			if at = (at + 10*len(nodes)) % len(nodes); !seen[at] {
				seen[at] = true
				all = append(all, nodes[at])
			}
		}
	}
	return all
}

// rumours is what one process knows by gossip.
type rumours struct {
	newest txlog.Head
}

// publishes says a head to all neighbours.
func (n *node) publishes(h txlog.Head) {
	n.r.Stats["heads"]++
	n.newest = h
	n.relays(h, nil)
}

func (n *node) relays(h txlog.Head, but *node) {
	for _, to := range n.neighbours() {
		if to != but {
			n.r.carry(n, to, func() core.Input { return to.hears(h, n) })
		}
	}
}

// hears takes a head from a neighbour.
func (n *node) hears(h txlog.Head, via *node) core.Input {
	if n.process == nil {
		return nil
	}
	if h.Index > n.newest.Index || h.Index == n.newest.Index && h.Forked(n.newest) {
		n.newest = h
		n.relays(h, via)
	}
	return core.Headed{Head: h, Via: via.name}
}

// gossips begins what gossip does over and over.
func (r *run) gossips() {
	r.w.Again(5*round, func() time.Duration {
		if !r.flapping() {
			r.suggests(r.fit())
		}
		for _, n := range r.nodes {
			if n.up && !n.paused && n.process != nil && n.newest.Index > 0 {
				to := slices.DeleteFunc(n.neighbours(), func(to *node) bool { return !r.reach(n, to) })
				if len(to) > 0 {
					h, peer := n.newest, to[r.w.Pick(len(to))]
					r.carry(n, peer, func() core.Input { return peer.hears(h, n) })
				}
			}
		}
		return 10 * round
	})
}

// fit returns the suggested leader, or the first member that a majority reaches if that one is not reached.
func (r *run) fit() *node {
	if r.suggested != nil && r.reached(r.suggested) {
		return r.suggested
	}
	for _, m := range r.members() {
		if n := r.byName[m.Name]; r.reached(n) {
			return n
		}
	}
	return nil
}

func (r *run) reached(n *node) bool {
	all := r.members()
	if !r.decides(n) || !n.up || n.paused {
		return false
	}
	reach := 0
	for _, m := range all {
		if r.reach(n, r.byName[m.Name]) {
			reach++
		}
	}
	return reach >= txlog.Majority(all)
}

// suggests has every node hear that somebody should lead, one sooner than the other.
func (r *run) suggests(who *node) {
	if who == nil {
		return
	}
	r.suggested = who
	for _, n := range r.nodes {
		r.w.After(r.w.Between(round/10, 2*round), func() { n.put(core.Suggested{Name: who.name}) })
	}
}

func (r *run) flapping() bool { return r.w.Now() < r.flaps }
