package world

import (
	"slices"
	"strings"
	"time"
)

// Report is the result of a run; its JSON is part of the public interface.
type Report struct {
	Seed       uint64      `json:"seed"`
	Nodes      int         `json:"nodes"`
	Steps      int         `json:"steps"` // all events, also those after the faults
	Violations []Violation `json:"violations"`
	// Stats are sums, except narrowest_gap_us, a minimum, settled_ms, a maximum, those that end in _max, and those of Timed.
	Stats map[string]int64 `json:"stats"`
	// Took is how long each thing took that was asked for, where that is measured.
	Took []time.Duration `json:"-"`
	// Trace is a hash of everything that happened: equal runs have equal hashes.
	Trace string `json:"trace"`
}

// AddStats adds the stats of another run to those of this report.
func (r Report) AddStats(stats map[string]int64) {
	for name, n := range stats {
		old, seen := r.Stats[name]
		switch {
		case !seen:
			r.Stats[name] = n
		case name == NarrowestGap:
			r.Stats[name] = min(old, n)
		case name == SettledAfter || strings.HasSuffix(name, "_max"):
			r.Stats[name] = max(old, n)
		default:
			r.Stats[name] = old + n
		}
	}
}

// Timed writes the stats of Took, in milliseconds: of several runs they are those of all that was asked for in any of them.
func (r Report) Timed() {
	if len(r.Took) == 0 {
		return
	}
	all := slices.Sorted(slices.Values(r.Took))
	var sum time.Duration
	for _, one := range all {
		sum += one
	}
	r.Stats["took_mean_ms"] = (sum / time.Duration(len(all))).Milliseconds()
	r.Stats["took_p50_ms"] = all[len(all)/2].Milliseconds()
	r.Stats["took_p99_ms"] = all[len(all)*99/100].Milliseconds()
	r.Stats["took_max_ms"] = all[len(all)-1].Milliseconds()
}

// The stats that are not sums.
const (
	NarrowestGap = "narrowest_gap_us"
	SettledAfter = "settled_ms"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string `json:"invariant"`
	Step      int    `json:"step"`   // the event after which it did not hold
	Replay    string `json:"replay"` // the command that repeats it
	Detail    string `json:"detail,omitempty"`
}

// Has reports whether an invariant was violated.
func (r Report) Has(invariant string) bool {
	for _, v := range r.Violations {
		if v.Invariant == invariant {
			return true
		}
	}
	return false
}
