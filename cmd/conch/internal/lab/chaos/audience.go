package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Viewing is what one page was told, by the rules of a page: it takes each event once, and rows by their version.
type Viewing struct {
	Viewer int
	Told   int // messages
	Opened int // streams
	Beats  []Beat
	Faults []Violation // of what can be judged at once

	moves   bool // it looks at another node after each stream, so that what it is told of rows may be older than before
	have    map[int64]bool
	stream  map[int64]bool // events of this stream
	first   int64          // the oldest event of the first reading
	version uint64
	epochs  map[string]int64
}

// Beat is a reading of the database that a page was told of as the present.
type Beat struct {
	Machine  string
	AsOf, At fence.Instant
}

func newViewing(viewer int, moves bool) *Viewing {
	return &Viewing{Viewer: viewer, moves: moves, have: map[int64]bool{}, stream: map[int64]bool{}, epochs: map[string]int64{}}
}

const mostFaults = 20 // of a viewer

func (v *Viewing) fault(invariant, format string, args ...any) {
	if len(v.Faults) < mostFaults {
		v.Faults = append(v.Faults, Violation{Invariant: invariant, Detail: fmt.Sprintf("viewer %d: ", v.Viewer) + fmt.Sprintf(format, args...)})
	}
}

// begins notes that a stream has begun.
func (v *Viewing) begins() {
	v.Opened++
	v.stream, v.version = map[int64]bool{}, 0
}

// event notes an event that a stream told.
func (v *Viewing) event(id int64) {
	if v.stream[id] {
		v.fault(ToldOnce, "one stream told event %d twice", id)
	}
	v.stream[id], v.have[id] = true, true
}

// history notes what a page reads when its stream has begun.
func (v *Viewing) history(ids []int64) {
	if v.first == 0 && len(ids) > 0 {
		v.first = slices.Min(ids)
	}
	for _, id := range ids {
		v.have[id] = true
	}
}

// rows notes rows of a version, all of them or those that changed.
func (v *Viewing) rows(version uint64, epochs map[string]int64) {
	if version < v.version {
		return // a page leaves them out
	}
	v.version = version
	for scope, epoch := range epochs {
		if epoch < v.epochs[scope] && !v.moves {
			v.fault(ToldNow, "%q was at epoch %d, and is told at %d", scope, v.epochs[scope], epoch)
		}
		v.epochs[scope] = max(v.epochs[scope], epoch)
	}
}

// answered judges the status of an answer: a node that cannot ask its database may say so.
func (v *Viewing) answered(path string, status int) {
	if status != 200 && status != 503 && status != 504 {
		v.fault(Answers, "%s was answered with %d", path, status)
	}
}

// missed lists the events of a history, in order, that a page should have and has not: older than its newest one. A few may become
// visible later than those behind them.
func (v *Viewing) missed(history []int64) (ids []int64) {
	const onTheirWay = 5
	newest := slices.Max(append(slices.Collect(maps.Keys(v.have)), 0))
	past := slices.DeleteFunc(slices.Clone(history), func(id int64) bool { return id < v.first || id >= newest })
	for _, id := range past[:max(len(past)-onTheirWay, 0)] {
		if !v.have[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

const (
	// latest is how old a reading may be when a page is told of it: the five seconds after which it has to be stale, and as many for a
	// machine that is busy.
	latest = 10 * time.Second
	// blur is how exactly a time of one clock is told by another.
	blur = 100 * time.Millisecond
)

// viewed judges what pages were told: nothing of a database that was dead, or behind a line that passed nothing, while it was so: what was
// asked then may be answered once the line is back. And no reading that was old, unless its process was stopped meanwhile.
func (e Evidence) viewed(say sayer) {
	var ids []int64
	for _, h := range e.History {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	for _, v := range e.Viewings {
		for _, f := range v.Faults {
			say(f.Invariant, 0, "%s", f.Detail)
		}
		if missed := v.missed(ids); len(missed) > 0 {
			say(ToldOnce, 0, "viewer %d was never told of event %d, and of %d in all", v.Viewer, missed[0], len(missed))
		}
		for _, b := range v.Beats {
			e.judgeBeat(v.Viewer, b, say)
		}
	}
}

func (e Evidence) judgeBeat(viewer int, b Beat, say sayer) {
	stopped := false
	for _, in := range e.Injections {
		hit := in.of(b.Machine)
		if (in.Fault.Kind == PGKill || hit && in.Fault.Kind == Silent) && b.AsOf > in.Done.Add(blur) && b.At < in.Healed {
			say(ToldNow, b.At, "viewer %d was told how things stood %s after fault %d (%s) began, when nobody could know", viewer, short(b.AsOf.Sub(in.Done)), in.Number, in.Fault.Kind)
		}
		stopped = stopped || hit && in.Fault.Kind.stops() && in.At < b.At && in.Over > b.AsOf
	}
	if age := b.At.Sub(b.AsOf); age > latest && !stopped {
		say(ToldNow, b.At, "viewer %d was told as the present what was read %s before", viewer, short(age))
	}
}
