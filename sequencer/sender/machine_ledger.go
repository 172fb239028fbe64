package sender

import (
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// block takes the next block of the canonical chain.
func (m *Machine) block(b ledger.Block) {
	if b.Number <= m.head {
		m.rewind(b.Number - 1)
	}
	m.head = b.Number
	if m.work != nil {
		m.nudgeAt, m.nudgePause = 0, 0
		for _, f := range b.Facts {
			m.fact(b.Number, f)
		}
		for _, it := range m.expiring.take(b.Number - 1) {
			m.tell(it, happening{event: expired})
		}
	}
	m.finalize()
}

// fact takes what a block did with one intent.
func (m *Machine) fact(block uint64, f ledger.Fact) {
	if f.Owner != m.cfg.Self {
		return
	}
	it := m.intents[f.Sequence]
	if it == nil {
		return
	}
	h := happening{event: skippedStray, hash: f.Assembled, block: block}
	last := it.dispatched
	if it.grant != nil && it.state != Noting && it.state != Dispatched {
		last = it.grant.Assembled
	}
	switch {
	case f.Skipped == ledger.Taken && (f.Payload == it.hash || m.broken(SamePayload)):
		h.event = landed
	case f.Skipped == ledger.Taken:
		h.event = superseded
	case f.Assembled != last: // of an attempt before, or a cancellation
	case f.Skipped == ledger.Missing:
		h.event = skippedMissing
	case f.Skipped == ledger.Malformed, f.Skipped == ledger.NotMember, f.Skipped == ledger.NotEndorsed:
		h.event, h.fault = skippedFaulty, "the ledger has skipped it: "+f.Skipped.String()
	}
	m.tell(it, h)
}

// included waits for the block to be final.
func (m *Machine) included(it *intent, h *happening) wire.Why {
	m.detach(it)
	m.blocks.remove(it.block, it)
	it.attempt, it.asking = nil, nil
	it.block, it.landed, it.why = h.block, h.hash, ""
	m.to(it, Included)
	m.blocks.add(h.block, it)
	m.share(it, h.hash, h.block)
	return wire.Done
}

// rewind takes back what blocks did that are no longer in the canonical chain.
func (m *Machine) rewind(to uint64) {
	head := m.head
	m.head = min(head, to)
	if m.work != nil {
		for n := head; n > to; n-- {
			for _, it := range m.blocks.take(n) {
				m.tell(it, happening{event: rewound})
			}
		}
	}
}

// takenBack waits for the same attempt to land again, as long as it may.
func (m *Machine) takenBack(it *intent, h *happening) wire.Why {
	until, is := it.untilOf(it.landed, "")
	it.block = 0
	switch {
	case it.giveUp != "":
		m.end(it)
	case is:
		it.dispatched, it.until = it.landed, until
		m.to(it, Dispatched)
		m.expire(it)
	default:
		m.moved(it, h)
	}
	return wire.Done
}

// finalize goes through the blocks that have become final.
func (m *Machine) finalize() {
	depth := m.cfg.Contract.Depth
	was := m.final()
	if m.head < depth || !m.height.Note(m.head-depth) || m.work == nil {
		return
	}
	now := m.final()
	for n := was + 1; n <= now; n++ {
		for _, it := range m.blocks.take(n) {
			m.conclude(it, happening{event: final, hash: it.landed, block: n})
		}
		for _, it := range m.deadlines.take(n) {
			m.tell(it, happening{event: overdue})
		}
	}
	m.askAboutEndings()
	if c := m.cfg.Committee; c.RangeOf(was) != c.RangeOf(now) {
		m.turn()
	}
}

// turn moves what no coordinator has accepted to the node of the new range, and the rest some time later, so that what
// is nearly done is done (D17).
func (m *Machine) turn() {
	to, _ := m.choice()
	for _, d := range m.working {
		switch {
		case to == nil:
		case d.to == to:
			d.moveAt = 0
		default:
			if o := d.open; o != nil {
				m.close(d)
				for _, it := range o.intents {
					if it.state == Delegated && it.under == d.id {
						m.tell(it, happening{event: turned})
					}
				}
			}
			if d.moveAt == 0 {
				d.moveAt = m.now + m.cfg.MoveAfter
			}
		}
	}
}
