package sender

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Status is what a user may know of an open intent.
type Status struct {
	Sequence    ledger.Sequence
	Key         string
	State       State
	Coordinator ledger.Account // empty if it has none
	Delegation  ledger.Hash
	Grants      int           // that were given, over all starts
	Failures    int           // that were counted
	NotBefore   time.Duration // for which its last grant keeps others waiting
	Block       uint64        // that has it, or 0
	Why         string        // what it waits for, or failed at last; may be empty
}

// Status returns an open intent's, and false if it is not open: the store knows how it ended.
func (m *Machine) Status(s ledger.Sequence) (Status, bool) {
	it := m.intents[s]
	if it == nil {
		return Status{}, false
	}
	return m.status(it), true
}

// Snapshot returns all open intents, in the order of submission.
func (m *Machine) Snapshot() []Status {
	all := make([]*intent, 0, len(m.intents))
	for _, it := range m.intents {
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b *intent) int { return cmp.Compare(a.order, b.order) })
	list := make([]Status, len(all))
	for i, it := range all {
		list[i] = m.status(it)
	}
	return list
}

// Counts returns how many open intents there are in each state that has some, by its name.
func (m *Machine) Counts() map[string]int {
	all := map[string]int{}
	if m.work == nil {
		return all
	}
	for s, n := range m.counts {
		if n > 0 {
			all[State(s).String()] = n
		}
	}
	return all
}

// Blamed returns the coordinators that are left out until the range turns, as what they send is not endorsed.
func (m *Machine) Blamed() (all []ledger.Account) {
	for a := range m.blamed {
		if m.blames(a) {
			all = append(all, a)
		}
	}
	return all
}

// Idlers returns the coordinators that are left out for a while, as nothing has landed of what they were given.
func (m *Machine) Idlers() (all []ledger.Account) {
	if m.work == nil {
		return nil
	}
	for _, p := range m.listed {
		if p.idle > m.now {
			all = append(all, p.account)
		}
	}
	return all
}

// Height returns the ledger's last block, and the last final one, as far as the machine was told.
func (m *Machine) Height() (head, final uint64) { return m.head, m.final() }

func (m *Machine) status(it *intent) Status {
	s := Status{
		Sequence: it.Sequence, Key: it.Key, State: it.state, Delegation: it.under, Grants: len(it.given), Failures: it.failures,
		NotBefore: max(it.young-m.now, 0), Block: it.block, Why: it.why,
	}
	if it.with != nil {
		s.Coordinator = it.with.account
	}
	return s
}
