package sender

import (
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// moved takes the intent from its coordinator. A new one is found for it with this step.
func (m *Machine) moved(it *intent, h *happening) wire.Why {
	switch h.event {
	case skippedMissing, skippedUnsigned:
		m.over(it, h.hash)
	case expired, notSent:
		m.over(it, it.dispatched)
		m.ranOut(it)
	case returned, forgotten, returnedFaulty:
		it.young = 0
	default:
	}
	to, _ := m.choice()
	rests := h.event == returnedFaulty || h.event == returned && to == it.with // or the two of them would play ball
	m.leave(it)
	it.why = h.event.String()
	m.to(it, Waiting)
	if rests {
		m.resting = append(m.resting, rest{it: it, until: m.now + firstPause})
		return wire.Done
	}
	m.queue(it)
	return wire.Done
}

// rest is an intent that goes back to the node that has just returned it, a little later.
type rest struct {
	it    *intent
	until time.Duration
}

// rested queues what has rested.
func (m *Machine) rested() {
	for len(m.resting) > 0 && m.resting[0].until <= m.now {
		it := m.resting[0].it
		m.resting = m.resting[1:]
		if it.state != Waiting {
			continue
		}
		if to, avoid := m.another(it); len(it.refusers) > 0 && to != nil {
			m.elsewhere(it, to, avoid)
		} else {
			m.queue(it)
		}
	}
}

// released says that the intent's last grant keeps nobody waiting any more.
func (m *Machine) released(it *intent, h *happening) wire.Why {
	m.over(it, h.hash)
	return wire.Done
}

// over notes that an attempt is no longer waited for, so that a restart, which reads the same blocks again, does not
// wait for it either, and does not count its failure twice.
func (m *Machine) over(it *intent, assembled ledger.Hash) {
	it.young = 0
	if it.overs(assembled) {
		m.mark(Mark{Sequence: it.Sequence, Over: assembled})
	}
}

// leave ends what the intent has to do with its coordinator.
func (m *Machine) leave(it *intent) {
	m.detach(it)
	if it.expected != nil {
		it.expected.digest.Add(it.Sequence, -1)
		it.expected = nil
	}
	it.with, it.under, it.attempt, it.asking = nil, ledger.Hash{}, nil, nil
	m.expiring.remove(it.due, it)
	it.dispatched, it.until, it.due = ledger.Hash{}, 0, 0
}

// detach takes the intent out of what its coordinator has still to dispatch.
func (m *Machine) detach(it *intent) {
	if it.delegation != nil {
		it.delegation.remove(it)
	}
	if it.active {
		it.active = false
		it.expected.active--
	}
}
