package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Finding is one fault in a record.
type Finding struct {
	What  string
	At    fence.Instant // 0: unknown
	Acts  []Act         // acts behind the act door, the stale one first
	Newer fence.Instant // first act of an epoch above the stale act's; 0: none
}

func overlapping(r Record) []Finding {
	return slices.Concat(intersecting(r.Outside), late(r.Outside), regressing(r.Ledger), shared(r))
}

// intersecting finds pairs of acts of different terms that overlap in time.
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
			if stale.Epoch < current.Epoch { // acts of one epoch have no newer one between them
				f.Newer = newer[stale.Epoch]
			}
			pairs = append(pairs, f)
		}
		open = append(open, a)
	}
	return pairs
}

// late finds acts that began, or reached the file, after the first act of a newer epoch.
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

// successions returns, for each epoch but the newest, the earliest act of any higher epoch.
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

// slow reports whether the gate allowed the stale act in time and only its write was late,
// because the process was stopped in between or the machine was busy. Only a fence refuses
// such a write. A gate shuts a margin before any other may open, so an allowed act checked
// its gate at least a margin before the first act of a newer epoch. If it checked later, two
// doors were open, or the newer one opened before the older term's acts had ended.
func (f Finding) slow(margin time.Duration) bool {
	return margin > 0 && f.Newer != 0 && f.Acts[0].Checked != 0 && f.Newer.Sub(f.Acts[0].Checked) >= margin
}

// regressing finds rows of an epoch below one that was written earlier: the fence let a stale
// leader through. A row's transaction number is assigned at its insert, and a transaction
// that passed the fence blocks the next mint until it has committed, so numbers of an older
// epoch are always below those of a newer one.
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

// shared finds epochs under which several terms acted; the mint promises that there are none.
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
