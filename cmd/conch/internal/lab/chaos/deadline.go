package chaos

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// margin is how long before its lease is over a gate is shut, as the elector has it.
func margin(lease time.Duration) time.Duration { return max(lease/10, 50*time.Millisecond) }

// never is after every instant.
const never = fence.Instant(math.MaxInt64)

// cut are the faults from which on a machine cannot renew anything: until they heal, or
// ever again in the terms that it had, since its process or its session has ended.
var cut = map[Kind]struct{ forGood bool }{
	StopShort: {}, StopLong: {}, Silent: {}, SilentToServer: {}, SilentToClient: {}, Deaf: {},
	Kill9: {true}, FrozenFence: {true}, BusyFence: {true}, PGKill: {true}, PGRestart: {true}, Reset: {true},
}

// outlived looks for whoever went on though nothing of theirs can have been renewed since
// a fault: children for longer than a lease, and acts behind the act door after the
// deadline, which is a margin earlier. A child is somebody else's to kill, who may find
// the machine busy; an act counts by the instant before its gate said yes, which is the
// same on every machine.
func (e Evidence) outlived(say sayer) {
	began := func(a evidence.Act) fence.Instant { return a.Start }
	asked := func(a evidence.Act) fence.Instant { return a.Checked }
	children, acts := newChronicle(e.Children), newChronicle(e.Record.Outside)
	for _, w := range e.Wounds {
		kind, cuts := cut[w.Fault.Kind]
		if !cuts || w.Done == 0 {
			continue
		}
		until := w.Healed
		if kind.forGood {
			until = never
		}
		for _, node := range w.Nodes {
			if a, found := children.survivor(node, w.At, w.Done.Add(e.Lease), until, began); found {
				say(InTime, a.Start, "the child of %s wrote %s after %s had cut its machine off; the lease is %s",
					node, a.Start.Sub(w.Done), w.Fault.Kind, e.Lease)
			}
			if a, found := acts.survivor(node, w.At, w.Done.Add(e.Lease-margin(e.Lease)), until, asked); found {
				say(Shut, a.Checked, "the act door of %s was open %s after %s had cut its machine off; the lease is %s",
					node, a.Checked.Sub(w.Done), w.Fault.Kind, e.Lease)
			}
		}
	}
}

// chronicle is acts in the order in which they began, by who did them. Those of a term
// are one process's, one after the other.
type chronicle struct{ nodes, terms map[string][]*evidence.Act }

func newChronicle(acts []evidence.Act) chronicle {
	c := chronicle{map[string][]*evidence.Act{}, map[string][]*evidence.Act{}}
	all := make([]*evidence.Act, len(acts))
	for i := range acts {
		all[i] = &acts[i]
	}
	slices.SortStableFunc(all, func(a, b *evidence.Act) int { return cmp.Compare(a.Start, b.Start) })
	for _, a := range all {
		c.nodes[a.Node] = append(c.nodes[a.Node], a)
		c.terms[a.Term] = append(c.terms[a.Term], a)
	}
	return c
}

// survivor finds the first act, of the term that a node had at an instant, of which look
// tells an instant after the limit, if that is before until.
func (c chronicle) survivor(node string, at, limit, until fence.Instant, look func(evidence.Act) fence.Instant) (evidence.Act, bool) {
	theirs := c.nodes[node]
	before, _ := slices.BinarySearchFunc(theirs, at, func(a *evidence.Act, at fence.Instant) int { return cmp.Compare(a.Start, at) })
	if before == 0 {
		return evidence.Act{}, false
	}
	term := c.terms[theirs[before-1].Term]
	i, _ := slices.BinarySearchFunc(term, limit+1, func(a *evidence.Act, at fence.Instant) int { return cmp.Compare(look(*a), at) })
	if i == len(term) || look(*term[i]) >= until {
		return evidence.Act{}, false
	}
	return *term[i], true
}
