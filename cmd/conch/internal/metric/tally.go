package metric

import "slices"

// Columns of what is counted. Those that tell why have one for each reason.
const (
	acquired = iota
	attempts
	blocked
	begun
	failovers
	lost
	failed  = lost + len(Reasons)
	columns = failed + len(Failures)
)

// Columns of what is timed.
const (
	acquire = iota
	beat
	timed
)

// milliseconds are the upper bounds of buckets, from a round trip on a local socket to a lease that ran out.
var milliseconds = [...]float64{0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// tally is what is counted for a scope, or for all scopes together. It is copied whole when the page is read.
type tally struct {
	counts [columns]uint64
	times  [timed]histogram
}

// histogram counts values by the bucket that they fall into; the last one has no bound.
type histogram struct {
	buckets [len(milliseconds) + 1]uint64
	sum     float64
}

func (h *histogram) observe(v float64) {
	at, _ := slices.BinarySearch(milliseconds[:], v)
	h.buckets[at]++
	h.sum += v
}
