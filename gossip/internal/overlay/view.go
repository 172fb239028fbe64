package overlay

import (
	"slices"

	"github.com/conchhq/conch/internal/splitmix"
)

// arc is one entry of a view.
type arc struct {
	peer Peer
	age  int // periods of this node since it came
	told int // the tick of the Forward that brought it; 0: it came otherwise
}

// view is a multiset of arcs.
type view []arc

func (v *view) countTo(name string) (n int) {
	for _, a := range *v {
		if a.peer.Name == name {
			n++
		}
	}
	return n
}

// oldestTo returns the place of the oldest arc to a peer that is fit, or -1.
func (v *view) oldestTo(fit func(name string) bool) int {
	at := -1
	for i, a := range *v {
		if (at < 0 || a.age > (*v)[at].age) && fit(a.peer.Name) {
			at = i
		}
	}
	return at
}

// findTo returns the place of an arc to a peer, or -1.
func (v *view) findTo(name string) int {
	return slices.IndexFunc(*v, func(a arc) bool { return a.peer.Name == name })
}

// takeAt removes an arc.
func (v *view) takeAt(at int) arc {
	a := (*v)[at]
	*v = slices.Delete(*v, at, at+1)
	return a
}

// sampleArcs removes n random arcs.
func (v *view) sampleArcs(c *splitmix.Source, n int) []arc {
	var out []arc
	for range min(n, len(*v)) {
		out = append(out, v.takeAt(c.Below(len(*v))))
	}
	return out
}

// dropTo removes all arcs to a peer but those of which a Forward told since a tick. It returns how many it has removed that
// an exchange has moved.
func (v *view) dropTo(name string, since int) (moved int) {
	*v = slices.DeleteFunc(*v, func(a arc) bool {
		is := a.peer.Name == name && a.told < since
		if is && a.told == 0 {
			moved++
		}
		return is
	})
	return moved
}

// all is a tick after every Forward.
const all = int(^uint(0) >> 1)

// half is how many arcs of so many an exchange gives.
func half(arcs int) int { return (arcs + 1) / 2 }

// memory is a list of peers, each once, the newest last.
type memory []Peer

// notePeer puts a peer last, and forgets the oldest if there are more than most.
func (m *memory) notePeer(p Peer, most int) {
	m.forgetPeer(p.Name)
	*m = append(*m, p)
	if len(*m) > most {
		*m = slices.Delete(*m, 0, len(*m)-most)
	}
}

func (m *memory) forgetPeer(name string) {
	*m = slices.DeleteFunc(*m, func(p Peer) bool { return p.Name == name })
}
