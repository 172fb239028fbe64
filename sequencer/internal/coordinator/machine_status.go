package coordinator

import (
	"maps"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Status is what an operator may know of a coordinator.
type Status struct {
	Coordinates bool              // it has work
	Range       ranking.Range     // for which it coordinates, or did
	Stages      map[string]int    // pieces of work at each stage
	Inherited   int               // attempts that others have dispatched
	Ended       map[string]uint64 // entries of this node, by how they have ended: see Ends
	Holding     time.Duration     // for which dispatch still waits for those, at most
	Aside       []ledger.Account  // senders that do not answer, and are not asked for a while
	Forges      []ledger.Account  // members whose last signature was wrong: they are set aside too
	Turns       int               // senders that wait for states that they have lost
	Waiting     int               // pieces of work whose states are not there
}

// Status returns the machine's.
func (m *Machine) Status() Status {
	s := Status{Coordinates: len(m.works) > 0, Range: m.tenure.rng, Stages: map[string]int{}, Inherited: len(m.tenure.inherited), Turns: len(m.losers), Ended: maps.Clone(m.ended)}
	if m.holding() {
		s.Holding = max(m.tenure.holds-m.now, 0)
	}
	for _, one := range m.members {
		if one.forges {
			s.Forges = append(s.Forges, one.account)
		}
	}
	for _, c := range m.order {
		if m.now < c.aside {
			s.Aside = append(s.Aside, c.account)
		}
		s.Waiting += len(c.blocked)
		for _, w := range c.works {
			s.Stages[w.state.String()]++
		}
	}
	return s
}
