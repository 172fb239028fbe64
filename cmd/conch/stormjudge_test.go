//go:build unix

package main_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// stormRecord is all that is judged.
type stormRecord struct {
	Seed     uint64
	Owners   []string // accounts, by organisation
	Restored int      // whose database was put back; -1: none
	Copied   time.Time
	Back     time.Time
	Faults   []stormFault
	Liar     int // the organisation that lies; -1: none
	Lies     []stormFault
	Life     uint64        // of a grant, in blocks
	Most     time.Duration // that a user waits, of a hundred all but one
	Ends     time.Time     // when users ask for nothing more
	Payments []*stormPayment
	Entries  []stormEntry
	Gas      uint64
	Notes    []map[string]uint64 // what each database has unspent, by state
	Issued   uint64
}

// stormSpan is what came of a fault, from its last second on until the next one.
type stormSpan struct {
	stormFault

	Calm    time.Duration  `json:"calm_ns"`
	Landed  int            `json:"landed"`
	Skipped int            `json:"skipped"`
	Last    float64        `json:"last_skip_s"` // seconds after its end
	During  [2]int         `json:"during"`      // landed and skipped while it lasted
	P50     float64        `json:"p50_s"`       // of what was accepted from its begin until the next one
	P99     float64        `json:"p99_s"`
	Worst   float64        `json:"worst_s"`
	Causes  map[string]int `json:"causes"`
}

// stormVerdict is the document of a run.
type stormVerdict struct {
	Seed       uint64         `json:"seed"`
	Accepted   int            `json:"accepted"`
	Confirmed  int            `json:"confirmed"`
	Reverted   int            `json:"reverted"`
	Forgotten  int            `json:"forgotten"`
	Unheard    int            `json:"unheard"` // landed, and forgotten before the user heard its ID
	Landed     int            `json:"landed"`
	Skipped    int            `json:"skipped"`
	Gas        uint64         `json:"gas"`
	P50        float64        `json:"p50_s"`
	P99        float64        `json:"p99_s"`
	Worst      float64        `json:"worst_s"`
	Causes     map[string]int `json:"causes"`
	Faults     []stormSpan    `json:"faults"`
	Lies       []stormSpan    `json:"lies,omitempty"`
	Series     [][3]int       `json:"series"` // each 5 s: second, landed, skipped
	Violations []string       `json:"violations"`
}

// mostP99 is what a user waits at most where nobody lies, of a hundred all but one.
const mostP99 = 15 * time.Second

func (v *stormVerdict) fault(format string, args ...any) {
	v.Violations = append(v.Violations, fmt.Sprintf(format, args...))
}

// judgeStorm judges a record. It is pure.
func judgeStorm(r stormRecord) *stormVerdict {
	v := &stormVerdict{Seed: r.Seed, Causes: map[string]int{}, Gas: r.Gas, Violations: []string{}}
	landed := map[string]stormEntry{} // by owner and sequence
	unspent := map[string]bool{}
	causes := causesOf(r.Entries, r.Life)
	for i, e := range r.Entries {
		if !e.Landed {
			v.Skipped++
			v.Causes[causes[i]]++
			continue
		}
		v.Landed++
		name := e.Owner + " " + e.Sequence
		if before, twice := landed[name]; twice {
			v.fault("%s has landed twice, in the blocks %d and %d", name, before.Block, e.Block)
		}
		landed[name] = e
		for _, state := range e.Spends {
			if !unspent[state] {
				v.fault("%s has landed in block %d and spends %s, which is not unspent", name, e.Block, state)
			}
			delete(unspent, state)
		}
		for _, state := range e.Makes {
			unspent[state] = true
		}
	}
	v.users(r, landed)
	v.money(r, unspent)
	v.spans(r, causes)
	return v
}

// users compares what users were told with the ledger.
func (v *stormVerdict) users(r stormRecord, landed map[string]stormEntry) {
	var took []time.Duration
	heard := map[string]bool{}
	for _, p := range r.Payments {
		if p.Of == r.Liar {
			continue // what its users are told, a liar decides
		}
		if len(p.IDs) == 0 {
			v.fault("%s was never accepted", p.Key)
			continue
		}
		v.Accepted++
		name := r.Owners[p.Of] + " " + p.IDs[0]
		heard[name] = true
		e, is := landed[name]
		forgotten := p.Of == r.Restored && p.Last == "" && !p.Accepted.Before(r.Copied) && !p.Accepted.After(r.Back)
		switch {
		case forgotten:
			v.Forgotten++
		case p.Last == "confirmed":
			v.Confirmed++
		case p.Last == "reverted":
			v.Reverted++
		default:
			v.fault("%s has not ended: it is %q", p.Key, p.Last)
		}
		if !forgotten && p.First != "" && p.First != p.Last {
			v.fault("%s was told %s and is %s now", p.Key, p.First, p.Last)
		}
		if said := cmp.Or(p.First, p.Last); said != "" && is != (said == "confirmed") {
			v.fault("%s was told %s, and landed is %t", p.Key, said, is)
		}
		if is && e.Payload != stormHash(p.Payload) {
			v.fault("%s has landed, and what landed is not what was asked for", p.Key)
		}
		if p.First != "" {
			took = append(took, p.Ended.Sub(p.Accepted))
		}
	}
	for name, e := range landed {
		if heard[name] || r.Liar >= 0 && e.Owner == r.Owners[r.Liar] {
			continue
		}
		v.Unheard++
		if r.Restored < 0 || !strings.HasPrefix(name, r.Owners[r.Restored]) {
			v.fault("%s has landed, and nobody has asked for it", name)
		}
	}
	v.P50, v.P99, v.Worst = quantile(took, 50), quantile(took, 99), quantile(took, 100)
	if limit := r.Most.Seconds(); v.P99 > limit {
		v.fault("one of a hundred payments took %.1f s and more, want %.0f", v.P99, limit)
	}
}

func stormHash(payload string) string {
	h := sha256.Sum256([]byte("conch payload" + payload))
	return "0x" + hex.EncodeToString(h[:])
}

// money checks that each database has the notes that are unspent by the ledger, and that they hold what was issued.
func (v *stormVerdict) money(r stormRecord, unspent map[string]bool) {
	for i, notes := range r.Notes {
		if i == r.Liar {
			continue
		}
		sum := uint64(0)
		for state, amount := range notes {
			sum += amount
			if !unspent[state] {
				v.fault("the database %d has the note %s, which is spent or never was", i, state)
			}
		}
		if sum != r.Issued || len(notes) != len(unspent) {
			v.fault("the database %d has %d in %d notes, and %d was issued, in %d unspent ones now", i, sum, len(notes), r.Issued, len(unspent))
		}
	}
}

// spans judges each fault: from its last second on no more is skipped than lands. For each lie it counts; the liar's node was killed for it, so
// it begins within a fault.
func (v *stormVerdict) spans(r stormRecord, causes []string) {
	for i, l := range r.Lies {
		within := func(f stormFault) bool { return !l.From.Before(f.From) && !l.From.After(f.To) }
		if i > 0 && !slices.ContainsFunc(r.Faults, within) {
			v.fault("the liar was started again at %s, within no fault: what came of that is in no account", l.From.Format(time.TimeOnly))
		}
	}
	v.Faults, v.Lies = r.spans(r.Faults, causes), r.spans(r.Lies, causes)
	for i, s := range v.Faults {
		if s.Skipped > s.Landed {
			v.fault("after %s, fault %d, %d entries were skipped and %d landed", s.Name, i+1, s.Skipped, s.Landed)
		}
	}
	v.series(r.Entries)
}

func (r stormRecord) spans(faults []stormFault, causes []string) (all []stormSpan) {
	for i, f := range faults {
		next := r.Ends
		if i+1 < len(faults) {
			next = faults[i+1].From
		}
		from := f.To
		s := stormSpan{stormFault: f, Calm: next.Sub(from), Causes: map[string]int{}}
		for k, e := range r.Entries {
			switch {
			case e.At.Before(f.From) || !e.At.Before(next):
			case e.At.Before(from) && e.Landed:
				s.During[0]++
			case e.At.Before(from):
				s.During[1]++
			case e.Landed:
				s.Landed++
			default:
				s.Skipped++
				s.Causes[causes[k]]++
				s.Last = e.At.Sub(from).Seconds()
			}
		}
		var took []time.Duration
		for _, p := range r.Payments {
			if p.Of != r.Liar && p.First != "" && !p.Accepted.Before(f.From) && p.Accepted.Before(next) {
				took = append(took, p.Ended.Sub(p.Accepted))
			}
		}
		s.P50, s.P99, s.Worst = quantile(took, 50), quantile(took, 99), quantile(took, 100)
		all = append(all, s)
	}
	return all
}

func (v *stormVerdict) series(all []stormEntry) {
	for _, e := range all {
		at := int(e.At.Sub(all[0].At).Seconds()) / 5
		for len(v.Series) <= at {
			v.Series = append(v.Series, [3]int{5 * len(v.Series)})
		}
		if e.Landed {
			v.Series[at][1]++
		} else {
			v.Series[at][2]++
		}
	}
}

// quantile returns seconds: of so many per cent it took no longer.
func quantile(took []time.Duration, per int) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*per+99)/100-1].Seconds()
}

// String is the table of a run.
func (v *stormVerdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d accepted, %d confirmed, %d reverted, %d forgotten, %d unheard; %d landed, %d skipped, %d M gas; p50 %.1f s, p99 %.1f s, worst %.1f s\n",
		v.Seed, v.Accepted, v.Confirmed, v.Reverted, v.Forgotten, v.Unheard, v.Landed, v.Skipped, v.Gas/1e6, v.P50, v.P99, v.Worst)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FAULT OR LIE\tOF\tLASTED\tLANDED\tSKIPPED\tCALM\tLANDED\tSKIPPED\tLAST SKIP\tP50\tP99\tWORST\tSKIPPED BECAUSE")
	for _, s := range slices.Concat(v.Faults, v.Lies) {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.1f\t%d\t%d\t%.0f\t%d\t%d\t%.0f\t%.1f\t%.1f\t%.1f\t%s\n", s.Name, s.Victim, s.To.Sub(s.From).Seconds(),
			s.During[0], s.During[1], s.Calm.Seconds(), s.Landed, s.Skipped, s.Last, s.P50, s.P99, s.Worst, counts(s.Causes))
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "skipped in all: %s\n", counts(v.Causes))
	for _, text := range v.Violations {
		fmt.Fprintln(&b, "VIOLATION:", text)
	}
	return b.String()
}

func counts(of map[string]int) string {
	var all []string
	for name, n := range of {
		all = append(all, fmt.Sprintf("%d %s", n, name))
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return strings.Join(all, ", ")
}
