package sender

import (
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// submit gives the intent its number for ever, and stores it (P28).
func (m *Machine) submit(row IntentRow) {
	m.begin()
	m.counter++
	row.Sequence = ledger.Sequence{Lineage: m.cfg.Lineage, Counter: m.counter}
	it := m.add(row)
	m.store.Intents = append(m.store.Intents, row)
	m.commit.intents = append(m.commit.intents, it)
}

// add begins an intent in memory.
func (m *Machine) add(row IntentRow) *intent {
	it := &intent{IntentRow: row, hash: domain.PayloadHash(row.Payload), order: m.submitted, state: Storing}
	m.submitted++
	m.counts[Storing]++
	m.intents[row.Sequence] = it
	if row.Deadline > 0 {
		m.deadlined++
		m.deadlines.add(row.Deadline, it)
	}
	return it
}

// begun tells the user, now that the row is stored.
func (m *Machine) begun(it *intent, _ *happening) wire.Why {
	m.do(Submitted{Key: it.Key, Sequence: it.Sequence})
	if it.Deadline > 0 && it.Deadline <= m.final() {
		m.giveUp(it, deadlinePassed)
		return wire.Done
	}
	m.to(it, Waiting)
	m.queue(it)
	return wire.Done
}

// drop forgets an intent that has no row.
func (m *Machine) drop(it *intent, _ *happening) wire.Why {
	m.to(it, Reverted)
	m.forget(it)
	return wire.Done
}

func (m *Machine) forget(it *intent) {
	delete(m.intents, it.Sequence)
	m.counts[it.state]--
	m.blocks.remove(it.block, it)
	if it.Deadline > 0 {
		m.deadlined--
		m.deadlines.remove(it.Deadline, it)
	}
}

// write asks for the Store of this step.
func (m *Machine) write() {
	c, s := m.commit, m.store
	if len(c.intents)+len(c.asks)+len(c.notes)+len(c.results)+len(s.Marks)+len(s.Intents)+len(s.Grants)+len(s.Results) == 0 {
		return
	}
	if len(m.commits) == 0 {
		m.storedAt = m.now
	}
	m.stores++
	s.ID = m.stores
	m.commits[s.ID] = c
	m.store, m.commit = Store{}, commit{}
	m.do(s)
}

// mark stores a change of the intent's row.
func (m *Machine) mark(k Mark) { m.store.Marks = append(m.store.Marks, k) }

// stored goes on with what has waited for a Store.
func (m *Machine) stored(id uint64) {
	if m.work == nil {
		return
	}
	c, is := m.commits[id]
	if !is {
		return
	}
	delete(m.commits, id)
	m.storedAt = m.now
	for _, it := range c.intents {
		m.tell(it, happening{event: rowStored})
	}
	for _, a := range c.asks {
		m.answerGrants(a)
	}
	for _, n := range c.notes {
		for _, it := range n.intents {
			m.tell(it, happening{event: handedStored})
		}
		m.answer(n.to, n.request, wire.Noted{})
	}
	for _, it := range c.results {
		m.tell(it, happening{event: resultStored})
	}
}
