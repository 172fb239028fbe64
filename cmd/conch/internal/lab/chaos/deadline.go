package chaos

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// margin returns how long before the end of its lease a gate shuts, as in the elector.
func margin(lease time.Duration) time.Duration { return max(lease/10, 50*time.Millisecond) }

// never is after every instant.
const never = fence.Instant(math.MaxInt64)

// cut lists the faults that keep a machine from renewing anything: until they heal, or for good
// in the current terms, if they end its process or session.
var cut = map[Kind]struct{ forGood bool }{
	StopShort: {}, StopLong: {}, Silent: {}, SilentToServer: {}, SilentToClient: {}, Deaf: {},
	Kill9: {true}, FrozenFence: {true}, BusyFence: {true}, PGKill: {true}, PGRestart: {true}, Reset: {true},
}

// outlived looks for work that went on although a fault kept it from being renewed: children for
// longer than a lease, and acts after the deadline, a margin earlier. The lease is the limit for
// a child since another process must kill it, which may find the machine busy. An act counts by
// the instant before its gate said yes, which no busy machine can delay.
func (e Evidence) outlived(say sayer) {
	began := func(a evidence.Act) fence.Instant { return a.Start }
	asked := func(a evidence.Act) fence.Instant { return a.Checked }
	children, acts := newChronicle(e.Children), newChronicle(e.Record.Outside)
	for _, in := range e.Injections {
		kind, cuts := cut[in.Fault.Kind]
		if !cuts || in.Done == 0 {
			continue
		}
		until := in.Healed
		if kind.forGood {
			until = never
		}
		for _, node := range in.Nodes {
			if a, found := children.survivor(node, in.At, in.Done.Add(e.Lease), until, began); found {
				say(InTime, a.Start, "the child of %s wrote %s after %s had cut its machine off; the lease is %s",
					node, a.Start.Sub(in.Done), in.Fault.Kind, e.Lease)
			}
			if a, found := acts.survivor(node, in.At, in.Done.Add(e.Lease-margin(e.Lease)), until, asked); found {
				say(Shut, a.Checked, "the act door of %s was open %s after %s had cut its machine off; the lease is %s",
					node, a.Checked.Sub(in.Done), in.Fault.Kind, e.Lease)
			}
		}
	}
}

// chronicle holds acts in the order of their starts, by node and by term. The acts of a term do
// not overlap.
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

// survivor returns the first act of the term that a node had at an instant whose look is after
// limit and before until.
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
