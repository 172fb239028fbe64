package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// Invariants.
const (
	OneActor    = "one-actor"      // no two leaderships act at once, nor an old one after a new one
	OneChild    = "one-child"      // the same of the commands under conch run
	NothingLost = "nothing-lost"   // what was acknowledged is there
	NothingMore = "nothing-twice"  // nothing is there that nobody may have written
	InTime      = "dead-in-time"   // a command under conch run is dead before its leadership can be another's
	Minted      = "minted"         // whoever acts was elected, by the history
	Named       = "eviction-named" // a fence that blocked the mint is named in the history
	Alive       = "alive"          // nobody ends unasked
	Recovers    = "recovers"       // after the last fault has healed, everything goes on
)

// Wound is a fault as it happened.
type Wound struct {
	Number int
	Fault  Fault
	Nodes  []string
	At     fence.Instant // read before anything was done
	Done   fence.Instant // read when it was done
	Healed fence.Instant // read before anything was undone
	Epoch  int64         // of the ledger's leader before it
	Passed bool          // a fence that was stuck: somebody was elected past it
}

func (w Wound) of(node string) bool { return slices.Contains(w.Nodes, node) }

// Evidence is everything that Check looks at.
type Evidence struct {
	Record   evidence.Record // the ledger, and the acts behind the act door
	Children []evidence.Act
	History  []pgmint.Event
	Wounds   []Wound
	Lease    time.Duration
}

// Check weighs the evidence. It is pure, and counts beside violations the writes
// that only a fence could have refused: those of processes that were stopped
// between the last look at the gate and the write.
func Check(e Evidence) (violations []Violation, frozen int) {
	say := func(invariant string, at fence.Instant, format string, args ...any) {
		violations = append(violations, Violation{
			Invariant: invariant, Detail: fmt.Sprintf(format, args...), Fault: e.before(at),
		})
	}
	found := evidence.Find(e.Record)
	for _, f := range found.Overlapping {
		if len(f.Acts) > 0 && e.frozen(f.Acts[0]) {
			frozen++
			continue
		}
		say(OneActor, f.At, "%s", f.What)
	}
	for _, f := range found.Lost {
		say(NothingLost, f.At, "%s", f.What)
	}
	for _, f := range found.Duplicated {
		say(NothingMore, f.At, "%s", f.What)
	}
	for _, f := range evidence.Find(evidence.Record{Outside: e.Children}).Overlapping {
		say(OneChild, f.At, "%s", f.What)
	}
	e.outlived(say)
	e.unminted(say)
	e.unnamed(say)
	return violations, frozen
}

type sayer func(invariant string, at fence.Instant, format string, args ...any)

// before is the number of the last fault that had begun at an instant.
func (e Evidence) before(at fence.Instant) (number int) {
	for _, w := range e.Wounds {
		if w.At <= at {
			number = w.Number
		}
	}
	return number
}

// aboutToWrite is how long a look at the gate may be old when the process is
// stopped: it takes microseconds, and more only where processors are busy.
const aboutToWrite = 50 * time.Millisecond

// frozen tells whether an act looked at its gate right before its process was
// stopped, or while it was being stopped: whoever looks after waking looks later
// than Healed, which was read before the process was woken.
func (e Evidence) frozen(a evidence.Act) bool {
	return a.Checked != 0 && slices.ContainsFunc(e.Wounds, func(w Wound) bool {
		return w.Fault.Kind.stops() && w.of(a.Node) && a.Checked < w.Healed && a.Checked > w.At.Add(-aboutToWrite)
	})
}

// cut are the faults after which a machine can not renew anything until they heal.
var cut = []Kind{Kill9, StopShort, StopLong, Silent, SilentToServer, SilentToClient}

// outlived looks for children that went on for longer than a lease after the last
// instant at which theirs can have been renewed.
func (e Evidence) outlived(say sayer) {
	acts := slices.SortedFunc(slices.Values(e.Children), func(a, b evidence.Act) int { return cmp.Compare(a.Start, b.Start) })
	for _, w := range e.Wounds {
		if !slices.Contains(cut, w.Fault.Kind) {
			continue
		}
		at, _ := slices.BinarySearchFunc(acts, w.At, func(a evidence.Act, at fence.Instant) int { return cmp.Compare(a.Start, at) })
		for _, node := range w.Nodes {
			if a, found := survivor(acts[:at], acts[at:], node, w, e.Lease); found {
				say(InTime, a.Start, "the child of %s wrote %s after %s had cut its machine off; the lease is %s",
					node, a.Start.Sub(w.Done), w.Fault.Kind, e.Lease)
			}
		}
	}
}

// survivor finds an act of a machine's term before the fault, in the time when that
// must be dead.
func survivor(before, after []evidence.Act, node string, w Wound, lease time.Duration) (evidence.Act, bool) {
	term := ""
	for _, a := range slices.Backward(before) {
		if a.Node == node {
			term = a.Term
			break
		}
	}
	for _, a := range after {
		switch {
		case term == "" || a.Start >= w.Healed:
			return evidence.Act{}, false
		case a.Node == node && a.Term == term && a.Start > w.Done.Add(lease):
			return a, true
		}
	}
	return evidence.Act{}, false
}

// unminted looks for leaderships that acted and that the history does not know,
// and for a history that does not go up.
func (e Evidence) unminted(say sayer) {
	type leadership struct {
		scope  string
		epoch  int64
		holder string
	}
	known := map[leadership]bool{}
	newest := map[string]int64{}
	for _, h := range e.History {
		if h.Event != "acquired" {
			continue
		}
		if h.Epoch <= newest[h.Scope] {
			say(Minted, 0, "the history of %s says epoch %d after %d", h.Scope, h.Epoch, newest[h.Scope])
		}
		newest[h.Scope] = h.Epoch
		known[leadership{h.Scope, h.Epoch, h.Holder}] = true
	}
	look := func(l leadership, at fence.Instant) {
		if !known[l] {
			known[l] = true // once is enough
			say(Minted, at, "%s acted in epoch %d of %s, for which the history has somebody else or nobody", l.holder, l.epoch, l.scope)
		}
	}
	for _, row := range e.Record.Ledger {
		if row.Seq > 0 {
			look(leadership{Scope, row.Epoch, row.Node}, 0)
		}
	}
	for _, a := range e.Record.Outside {
		look(leadership{Scope, a.Epoch, a.Node}, a.Start)
	}
	for _, a := range e.Children {
		look(leadership{RunScope, a.Epoch, a.Node}, a.Start)
	}
}

// unnamed looks for evictions without a trace.
func (e Evidence) unnamed(say sayer) {
	for _, w := range e.Wounds {
		if w.Fault.Kind != BusyFence || !w.Passed {
			continue
		}
		if !slices.ContainsFunc(e.History, func(h pgmint.Event) bool {
			return h.Scope == Scope && h.Event == "evicted" && h.Epoch == w.Epoch
		}) {
			say(Named, w.At, "nobody was evicted in the history though a fence of epoch %d went on", w.Epoch)
		}
	}
}
