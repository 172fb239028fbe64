package coordinator

import (
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// What is handed over may be unable to land: a state that it needs was spent by another, what would create it was skipped, or
// its grant is over. The ledger says so for each entry, one block after the other; what was built on it meanwhile would be
// skipped too, and what is built on that. So it is doomed as soon as that can be seen: nothing that it creates is offered, and
// what is built on it goes with it. What it spends stays locked until the ledger has decided.

// there reports whether a state is unspent at the head, or is on its way. Of what is in a block the book knows more: somebody
// else may have spent it.
func (m *Machine) there(id ledger.StateID) bool {
	made, is := m.flight.creates[id]
	return is && made.by.state != included || m.set.Book.Unspent(id)
}

// sound reports whether all the states that an attempt needs are there or on their way.
func (m *Machine) sound(w *work) bool {
	missing := func(id ledger.StateID) bool { return !m.there(id) }
	return !slices.ContainsFunc(w.whole.Attempt.Inputs, missing) && !slices.ContainsFunc(w.whole.Attempt.Reads, missing)
}

// sweep judges all that is on board by the head. Before what was loaded is judged, the head says nothing about it.
func (m *Machine) sweep() {
	if len(m.judging) > 0 {
		return
	}
	m.swept = m.swept[:0]
	for w := m.flight.oldest; w != nil; w = w.after {
		m.swept = append(m.swept, w)
	}
	for _, w := range m.swept {
		switch {
		case !w.boarded || w.doomed: // it has gone with one before it
		case w.state == included:
			m.landed(w)
		case w.state >= storing && w.grant.ValidUntil <= m.head:
			m.tell(w, lapsed)
		case !m.sound(w):
			m.tell(w, overtaken)
		}
	}
	clear(m.swept)
}

// landed judges what an attempt in a block has created: what somebody else has spent since is offered no more.
func (m *Machine) landed(w *work) {
	w.outputs = slices.DeleteFunc(w.outputs, func(id ledger.StateID) bool {
		gone := m.flight.spends[id] == nil && !m.there(id)
		if gone {
			delete(m.flight.creates, id)
			m.flight.changed(id)
		}
		return gone
	})
}

// doom offers nothing of an attempt any more. It stays doomed, also if a reorganisation brings back what it needs: if it lands
// all the same, its states are the book's.
func (m *Machine) doom(w *work) {
	w.doomed = true
	m.orphan(m.flight.withdraw(w))
}

// orphan takes states that are not on their way any more. It dooms or unwinds each attempt that needs one of them, unless the
// ledger has all that the attempt needs.
func (m *Machine) orphan(states []ledger.StateID) {
	tell := func(w *work) {
		if w != nil && w.boarded && w.state != included && !w.doomed && !m.sound(w) {
			m.tell(w, orphaned)
		}
	}
	for _, id := range states {
		tell(m.flight.spends[id])
		for _, r := range slices.Clone(m.flight.readers[id]) {
			tell(r)
		}
	}
}
