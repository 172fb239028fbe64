package sim

// Report is what a run has found; its JSON is part of the outside interface.
type Report struct {
	Seed       uint64      `json:"seed"`
	Nodes      int         `json:"nodes"`
	Steps      int         `json:"steps"` // events, those of the quiet end included
	Violations []Violation `json:"violations"`
	// Stats are sums, but for narrowest_gap_us, which is the least that was seen, and
	// settled_ms, which is the most.
	Stats map[string]int64 `json:"stats"`
	// Trace is a hash of everything that happened: equal hashes, equal runs.
	Trace string `json:"trace"`
}

// AddStats puts the stats of another run to those of this report.
func (r Report) AddStats(stats map[string]int64) {
	for name, n := range stats {
		old, seen := r.Stats[name]
		switch {
		case !seen:
			r.Stats[name] = n
		case name == narrowestGap:
			r.Stats[name] = min(old, n)
		case name == settledAfter:
			r.Stats[name] = max(old, n)
		default:
			r.Stats[name] = old + n
		}
	}
}

// The stats that are no sums.
const (
	narrowestGap = "narrowest_gap_us"
	settledAfter = "settled_ms"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string `json:"invariant"`
	Step      int    `json:"step"`   // after this event
	Replay    string `json:"replay"` // the command that shows it again
	Detail    string `json:"detail,omitempty"`
}

// Has tells whether an invariant was violated.
func (r Report) Has(invariant string) bool {
	for _, v := range r.Violations {
		if v.Invariant == invariant {
			return true
		}
	}
	return false
}

// RuleInfo is a rule of the design that a run can do without, to show what it
// is for.
type RuleInfo struct {
	Name string `json:"name"`
	// Why says what happens without it.
	Why string `json:"why"`
	// Invariant is the one that breaks; empty if none does, which is the point.
	Invariant string `json:"invariant"`
	// Locks are those among which it shows; empty for any.
	Locks string `json:"locks,omitempty"`
}
