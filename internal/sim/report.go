package sim

// Report is what a run has found; its JSON is part of the outside interface.
type Report struct {
	Seed       uint64           `json:"seed"`
	Nodes      int              `json:"nodes"`
	Steps      int              `json:"steps"` // events, those of the quiet end included
	Violations []Violation      `json:"violations"`
	Stats      map[string]int64 `json:"stats"`
	// Trace is a hash of everything that happened: equal hashes, equal runs.
	Trace string `json:"trace"`
}

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
