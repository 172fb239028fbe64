package ranking

// Window says how far the range that another node names may be from one's own. Heights differ: a block reaches one
// node before another, and an indexer may be behind.
type Window struct {
	Older uint64 // ranges before one's own that are still taken
	Newer uint64 // ranges after one's own that are taken already
}

var (
	// Delegation is the window of a coordinator: a sender may be behind by a range, or ahead by two (D17).
	Delegation = Window{Older: 1, Newer: 2}
	// Endorsement is the window of an endorser. One that is behind endorses anything: safety is the ledger's.
	Endorsement = Window{Older: 2, Newer: 1<<64 - 1}
	// Strict takes one's own range alone, as document 002 has it (P21, P25).
	Strict = Window{}
)

// Takes reports whether a named range is taken by a node whose own one is given.
func (w Window) Takes(own, named Range) bool {
	if named < own {
		return uint64(own-named) <= w.Older
	}
	return uint64(named-own) <= w.Newer
}

// Height is the height of the last final block. It never decreases: an endpoint that is behind, or a chain that went
// back, must not move work to a coordinator that was (P2).
type Height struct {
	final uint64
	known bool
}

// Note takes a height, and reports whether it is higher than all before.
func (h *Height) Note(final uint64) bool {
	if h.known && final <= h.final {
		return false
	}
	h.final, h.known = final, true
	return true
}

// Final returns the highest height noted, and false if there was none.
func (h *Height) Final() (height uint64, known bool) { return h.final, h.known }
