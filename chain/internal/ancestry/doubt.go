package ancestry

import "github.com/conchhq/conch/chain"

// Doubt decides which heads a follower passes over (W4). Behind one endpoint there may be several nodes: one
// that is behind shows a lower head, and one on a branch of its own a head that cannot be linked. Neither
// is a reorganisation, unless it goes on. The zero Doubt is ready for use.
type Doubt struct {
	lower    int // looks in a row at a lower head
	unlinked int // looks at heads that could not be linked, less those at heads that could
}

// A lower head counts after so many looks in a row. The thread is lost after so many more looks at heads
// that cannot be linked than at others: what is followed may itself be the dead branch.
const (
	MaxLower    = 10
	MaxUnlinked = 20
)

// Passes reports whether to pass over a head, given the last one that was followed.
func (d *Doubt) Passes(last, head chain.Block) bool {
	if last.Hash == "" || head.Number >= last.Number {
		d.lower = 0
		return false
	}
	d.lower++
	return d.lower < MaxLower
}

// Linked notes that a head was linked.
func (d *Doubt) Linked() { d.unlinked = max(0, d.unlinked-1) }

// Unlinked notes that a head could not be linked, and reports whether the thread is lost.
func (d *Doubt) Unlinked() (lost bool) {
	d.unlinked++
	return d.unlinked >= MaxUnlinked
}
