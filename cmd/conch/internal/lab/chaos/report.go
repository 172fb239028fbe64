package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Report is what a run has shown. Its JSON is part of conch's outside.
type Report struct {
	Faults     map[Kind]int `json:"faults"`
	Missed     map[Kind]int `json:"missed,omitempty"` // of those that found nobody to be hit: not among the faults
	Acts       int          `json:"acts"`             // rows, acts behind the act door, acts of children
	Violations []Violation  `json:"violations"`
	// Unavailable is, by kind, how long the ledger had no new row: the longest gap
	// from the fault until everything went on.
	Unavailable map[Kind]Spread `json:"unavailable_ms"`
	ActDoor     map[Kind]Spread `json:"act_door_ms"`        // the same behind the act door
	Children    map[Kind]Spread `json:"children_ms"`        // the same of commands under conch run
	Seed        uint64          `json:"seed"`               // of the plan
	Leaders     int             `json:"leaders"`            // terms that acted, of the nodes and of the children
	Frozen      int             `json:"frozen_writes"`      // acts held up between the gate's yes and the write, by a stop or a busy machine
	LeftOut     map[Kind]string `json:"left_out,omitempty"` // kinds that cannot be done here: they were passed over
	Seconds     float64         `json:"seconds"`
	Replay      string          `json:"replay"`
}

// Fault says why the run did not show what it set out to show, nil if it did. One that
// was interrupted owes no faults, only its verdict.
func (r Report) Fault(interrupted bool) error {
	missed := sum(r.Missed)
	switch {
	case len(r.Violations) > 0:
		return fmt.Errorf("%d violations; see the plan again with: %s", len(r.Violations), r.Replay)
	case sum(r.Faults) == 0 && missed > 0 && !interrupted:
		return fmt.Errorf("all %d faults found nobody to be hit, so nothing was shown: give more --faults or a longer --lease; see the plan again with: %s",
			missed, r.Replay)
	default:
		return nil
	}
}

func sum(of map[Kind]int) (all int) {
	for _, n := range of {
		all += n
	}
	return all
}

// Violation is something that must not happen.
type Violation struct {
	Invariant string `json:"invariant"`
	Detail    string `json:"detail"`
	Fault     int    `json:"fault,omitempty"` // the number of the last fault before it, from 1
	Replay    string `json:"replay"`
}

// Spread is milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
}

// Combined stands for two faults at once, among the kinds that gaps are told of.
const Combined Kind = "combined"

// gaps are how long one workload was away, by kind.
type gaps struct{ hits, all map[Kind][]time.Duration }

// add takes a gap in; hit tells whether the fault was meant for whoever did the work.
func (g *gaps) add(kind Kind, away time.Duration, hit bool) {
	if g.all == nil {
		g.hits, g.all = map[Kind][]time.Duration{}, map[Kind][]time.Duration{}
	}
	g.all[kind] = append(g.all[kind], away)
	if hit {
		g.hits[kind] = append(g.hits[kind], away)
	}
}

// spreads: the median is that of the faults that hit the one at work, since those
// of bystanders cost nothing and there are many; the longest is that of all.
func (g *gaps) spreads() map[Kind]Spread {
	out := map[Kind]Spread{}
	for kind, all := range g.all {
		s := Spread{Max: evidence.SpreadOf(all).Max}
		if hits := evidence.SpreadOf(g.hits[kind]); hits.Samples() > 0 {
			s.P50 = hits.P50
		} else {
			s.P50 = evidence.SpreadOf(all).P50
		}
		out[kind] = s
	}
	return out
}

// told is how many violations of an invariant are told one by one.
const told = 50

// shorten tells the first of each invariant, and how many more there are.
func shorten(all []Violation, replay string) []Violation {
	short := []Violation{} // in JSON no list at all would be null
	count := map[string]int{}
	for _, v := range all {
		if count[v.Invariant]++; count[v.Invariant] <= told {
			v.Replay = replay
			short = append(short, v)
		}
	}
	for _, invariant := range slices.Sorted(maps.Keys(count)) {
		if more := count[invariant] - told; more > 0 {
			short = append(short, Violation{Invariant: invariant, Detail: fmt.Sprintf("and %d more", more), Replay: replay})
		}
	}
	return short
}
