package sender

import (
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What the ledger does to intents. A block has facts, one for each attempt that it has looked at: block gives each to its intent as an event
// (fact), which may be included by it. A rewind takes that back. Depth blocks later it is final (finalize), and only then is the user told.
// The methods that take a happening are cells of the table (table.go): tell looks an event up in it and calls one.
//
// m.blocks has the intents by the block that they are in, m.expiring by the last block in which their grant counts, m.deadlines by the block
// that is their deadline. take removes what is due and returns it. m.work, in which all of these are, is nil while no intent is open.

// block takes the next block of the canonical chain.
func (m *Machine) block(b ledger.Block) {
	if b.Number <= m.head {
		m.rewind(b.Number - 1)
	}
	m.head = b.Number
	if m.work != nil {
		if m.nudgeAt = 0; !m.leftAlone { // a block has come, so none has to be asked for; see nudge
			m.nudgePause = 0
		}
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
	h := happening{event: doors[f.Skipped], hash: f.Assembled, block: block}
	last := it.dispatched // the attempt that is on its way: the one granted last, until it is told which one was dispatched
	if it.grant != nil && it.state != Noting && it.state != Dispatched {
		last = it.grant.Assembled
	}
	switch {
	case f.Skipped == ledger.Taken && f.Payload == it.hash:
		h.event = landed
	case f.Skipped == ledger.Taken:
		h.event = superseded
	case f.Assembled != last: // of an attempt before, or a cancellation
		h.event = skippedStray
	case h.event == skippedFaulty:
		h.fault = "the ledger has skipped it: " + f.Skipped.String()
	}
	m.tell(it, h)
	if doors[f.Skipped] == skippedUnsigned { // of an attempt before, too
		m.blame(it, f.Assembled)
	}
}

// doors says at whose door it is that the ledger has skipped an attempt which its owner has granted.
var doors = [...]event{
	ledger.Malformed:   skippedFaulty,   // the owner's: the hash that it has granted covers what is malformed
	ledger.NotMember:   skippedFaulty,   // the owner's
	ledger.Repeated:    skippedStray,    // nobody's: the intent has landed or was cancelled, and the ledger says that too
	ledger.Expired:     skippedStray,    // nobody's: a copy by others has that, too, and the head says when its time is over
	ledger.NotGranted:  skippedStray,    // nobody's: a copy by others has that, too
	ledger.NotEndorsed: skippedUnsigned, // the coordinator's: another sender would have failed for the grant, and it has put the endorsements there
	ledger.Missing:     skippedMissing,  // nobody's: others were faster
}

// blame takes an attempt that was sent with endorsements that are wrong. The node to which it was granted is left out until the
// range turns, and what it has not dispatched is taken from it. An attempt that creates nothing may have been granted to two: the ledger
// does not say which of them it was.
func (m *Machine) blame(it *intent, assembled ledger.Hash) {
	var by ledger.Account
	for _, g := range it.given {
		switch {
		case g.Assembled != assembled:
		case by != "" && by != g.To:
			return
		default:
			by = g.To
		}
	}
	if by == "" || m.blames(by) {
		return
	}
	if m.blamed == nil {
		m.blamed = map[ledger.Account]ranking.Range{}
	}
	m.blamed[by] = m.cfg.Committee.RangeOf(m.final())
	m.lose(m.peer(by))
	m.do(Blame{Member: by, For: NotEndorsed})
}

// blames reports whether a node is left out until the range turns.
func (m *Machine) blames(a ledger.Account) bool {
	in, is := m.blamed[a]
	return is && in == m.cfg.Committee.RangeOf(m.final())
}

// included waits for the block to be final.
func (m *Machine) included(it *intent, h *happening) wire.Why {
	m.detach(it)
	m.landedBy(it, h.hash)
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
	default: // its grant is over
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

// turn begins a new range of blocks, whose order of coordinators is another one: the first of them that answers is the choice now. What
// no coordinator has accepted moves to it at once, and the rest MoveAfter later, so that what is nearly done is done (D17). A delegation
// whose coordinator is the choice again goes on.
func (m *Machine) turn() {
	to, _ := m.choice()
	for _, d := range m.working {
		switch {
		case to == nil: // nobody answers
		case d.to == to:
			d.moveAt = 0
		default:
			if o := d.open; o != nil { // offered, and not answered yet
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
