package follower

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// claim is a verified head of what is not applied yet: one member's word. A member that lies, or a thief of its key, can sign any index.
type claim struct {
	txlog.Head

	at time.Duration // it was heard
}

func sameWord(a, b txlog.Head) bool {
	return a.Position == b.Position && a.State == b.State && a.Member == b.Member
}

// keepClaim keeps a head. Those of one member take no room from those of others, and the one that was heard first stays: in time it is judged, and all
// that were heard since with it.
func (m *Machine) keepClaim(h txlog.Head) {
	m.pool = append(m.pool, claim{Head: h, at: m.now})
	slices.SortStableFunc(m.pool, func(a, b claim) int { return cmp.Compare(a.Index, b.Index) })
	var own []int
	first := 0
	for i, c := range m.pool {
		if c.Member == h.Member {
			if own = append(own, i); c.at < m.pool[own[first]].at {
				first = len(own) - 1
			}
		}
	}
	middle := mostClaims / 2
	if middle == first {
		middle++
	}
	switch n := len(m.pool); {
	case len(own) > mostClaims:
		m.pool = slices.Delete(m.pool, own[middle], own[middle]+1)
	case n > mostPool:
		m.pool = slices.Delete(m.pool, n/2, n/2+1)
	}
}

// vouchedIndex is the highest index that somebody says to be committed whose word counts.
func (m *Machine) vouchedIndex() uint64 {
	return max(m.newestHead().Index, m.hint, m.at.Index)
}

// newestHead is the newest head that counts. A new one of a member that was denied before does not, until there was time to deny it too: else
// one that says more each second would count for good. A member is told of entries by the leader, and hears heads of them sooner: they count there
// when they should have come.
func (m *Machine) newestHead() txlog.Head {
	for _, c := range slices.Backward(m.pool) {
		after := time.Duration(0)
		if m.base == nil {
			after = doubted
		}
		if m.suspectOf(c.Member) != nil {
			after = probation
		}
		if m.now-c.at >= after {
			return c.Head
		}
	}
	return m.head
}
