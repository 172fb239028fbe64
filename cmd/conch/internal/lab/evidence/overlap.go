package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Finding is one thing that must not be in a record.
type Finding struct {
	What  string
	At    fence.Instant // 0 if the record does not tell
	Acts  []Act         // of acts outside: the stale one first
	Newer fence.Instant // of acts outside: when an epoch above the stale one's first acted; 0: none has
}

// overlapping finds every sign that two leaderships acted at once.
func overlapping(r Record) []Finding {
	return slices.Concat(intersecting(r.Outside), late(r.Outside), regressing(r.Ledger), shared(r))
}

// intersecting finds pairs of acts of different terms that were under way at the
// same instant.
func intersecting(acts []Act) (pairs []Finding) {
	newer := successions(acts)
	acts = slices.Clone(acts)
	slices.SortFunc(acts, func(a, b Act) int { return cmp.Compare(a.Start, b.Start) })
	var open []Act
	for _, a := range acts {
		open = slices.DeleteFunc(open, func(o Act) bool { return o.End < a.Start })
		for _, o := range open {
			if o.Term == a.Term {
				continue
			}
			stale, current := o, a
			if o.Epoch > a.Epoch {
				stale, current = a, o
			}
			f := Finding{
				What: fmt.Sprintf("%s and %s were under way at once", stale, current), At: a.Start, Acts: []Act{stale, current},
			}
			if stale.Epoch < current.Epoch { // two of one epoch follow nobody, whatever came after both
				f.Newer = newer[stale.Epoch]
			}
			pairs = append(pairs, f)
		}
		open = append(open, a)
	}
	return pairs
}

// late finds acts of a term that began, or reached the file, after the first
// act of a newer one.
func late(acts []Act) (found []Finding) {
	newer := successions(acts)
	var newest int64
	for _, a := range acts {
		newest = max(newest, a.Epoch)
		if bound, ok := newer[a.Epoch]; a.Epoch < newest || ok && a.Start > bound {
			found = append(found, Finding{
				What: fmt.Sprintf("%s came after an act of a newer epoch", a), At: a.Start, Acts: []Act{a}, Newer: bound,
			})
		}
	}
	return found
}

// successions give for each epoch but the newest the earliest first act of any epoch
// above it.
func successions(acts []Act) map[int64]fence.Instant {
	first := map[int64]fence.Instant{}
	for _, a := range acts {
		earliest(first, a.Epoch, a.Start)
	}
	epochs := slices.Sorted(maps.Keys(first))
	newer := map[int64]fence.Instant{}
	for i := len(epochs) - 2; i >= 0; i-- {
		newer[epochs[i]] = first[epochs[i+1]]
		if later, ok := newer[epochs[i+1]]; ok {
			newer[epochs[i]] = min(newer[epochs[i]], later)
		}
	}
	return newer
}

// slow tells whether the stale act of a finding had its gate's yes in time and was only
// written late: stopped in between, or on a machine that was too busy. Nothing but a
// fence refuses such a write. A gate is shut a margin before any other may open, so
// whoever had its yes had asked at least that long before the first act of a newer epoch.
// If the time between is shorter, or negative, two doors were open, or the newer one
// opened before the acts of the older had ended.
func (f Finding) slow(margin time.Duration) bool {
	return margin > 0 && f.Newer != 0 && f.Acts[0].Checked != 0 && f.Newer.Sub(f.Acts[0].Checked) >= margin
}

// regressing finds rows written under an epoch below one that was written
// before: the fence let a stale leader through. A row's transaction number is
// given at its insert. One that the fence let pass blocks the next mint until it
// has committed, so numbers of an older epoch are always below those of a newer.
func regressing(ledger []Row) (found []Finding) {
	var newest int64
	for _, row := range ledger {
		if row.Epoch < newest {
			found = append(found, Finding{What: fmt.Sprintf("%s came after one of epoch %d", row, newest)})
		}
		newest = max(newest, row.Epoch)
	}
	return found
}

// shared finds epochs that more than one term acted under: the mint's one
// promise is that there is none.
func shared(r Record) (found []Finding) {
	terms := map[int64]string{}
	double := map[int64]bool{}
	look := func(epoch int64, term string) {
		if t, ok := terms[epoch]; ok && t != term && !double[epoch] {
			double[epoch] = true
			found = append(found, Finding{What: fmt.Sprintf("epoch %d is that of the terms %s and %s", epoch, t, term)})
		}
		terms[epoch] = term
	}
	for _, row := range r.Ledger {
		look(row.Epoch, row.Term)
	}
	for _, act := range r.Outside {
		look(act.Epoch, act.Term)
	}
	return found
}
