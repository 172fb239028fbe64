package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Report is the result of a run. Its JSON form is public.
type Report struct {
	Faults     map[Kind]int `json:"faults"`
	Missed     map[Kind]int `json:"missed,omitempty"` // faults that hit nobody; not counted in Faults
	Acts       int          `json:"acts"`             // rows, acts behind the act door, acts of children
	Violations []Violation  `json:"violations"`
	// Unavailable is, by kind, how long the ledger had no new row: the longest gap from the fault
	// until everything went on.
	Unavailable map[Kind]Spread `json:"unavailable_ms"`
	ActDoor     map[Kind]Spread `json:"act_door_ms"` // the same behind the act door
	Children    map[Kind]Spread `json:"children_ms"` // the same for commands under conch run
	Seed        uint64          `json:"seed"`
	Leaders     int             `json:"leaders"`                   // terms that acted, of the nodes and of the children
	Frozen      int             `json:"frozen_writes"`             // acts delayed between the gate's yes and the write, by a stop or a busy machine
	LeftOut     map[Kind]string `json:"left_out,omitempty"`        // kinds that cannot be injected here
	Told        int             `json:"viewers_told,omitempty"`    // messages that pages were told
	Streams     int             `json:"viewers_streams,omitempty"` // of so many streams
	Seconds     float64         `json:"seconds"`
	Replay      string          `json:"replay"`
}

// Fault returns an error that says why the run did not show what it was meant to show, or nil. An
// interrupted run need not have hit anybody.
func (r Report) Fault(interrupted bool) error {
	missed := sum(r.Missed)
	switch {
	case len(r.Violations) > 0:
		return fmt.Errorf("%d violations; see the plan again with: %s", len(r.Violations), r.Replay)
	case sum(r.Faults) == 0 && missed > 0 && !interrupted:
		return fmt.Errorf("all %d faults found nobody to hit, so nothing was shown: give more --faults or a longer --lease; see the plan again with: %s",
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

// Violation is a broken invariant.
type Violation struct {
	Invariant string `json:"invariant"`
	Detail    string `json:"detail"`
	Fault     int    `json:"fault,omitempty"` // number of the last fault before it, from 1
	Replay    string `json:"replay"`
}

// Spread is in milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
}

// Combined stands for two faults at once in the figures.
const Combined Kind = "combined"

// gaps holds how long one workload was away, by kind.
type gaps struct{ hits, all map[Kind][]time.Duration }

// add adds a gap. hit says whether the fault hit the machine at work.
func (g *gaps) add(kind Kind, away time.Duration, hit bool) {
	if g.all == nil {
		g.hits, g.all = map[Kind][]time.Duration{}, map[Kind][]time.Duration{}
	}
	g.all[kind] = append(g.all[kind], away)
	if hit {
		g.hits[kind] = append(g.hits[kind], away)
	}
}

// spreads returns the median of the faults that hit the machine at work, since the many others
// cost nothing, and the maximum of all.
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

// shownEach bounds the violations shown of one invariant.
const shownEach = 50

// shorten keeps the first violations of each invariant and counts the rest.
func shorten(all []Violation, replay string) []Violation {
	short := []Violation{} // nil would be null in JSON
	count := map[string]int{}
	for _, v := range all {
		if count[v.Invariant]++; count[v.Invariant] <= shownEach {
			v.Replay = replay
			short = append(short, v)
		}
	}
	for _, invariant := range slices.Sorted(maps.Keys(count)) {
		if more := count[invariant] - shownEach; more > 0 {
			short = append(short, Violation{Invariant: invariant, Detail: fmt.Sprintf("and %d more", more), Replay: replay})
		}
	}
	return short
}
