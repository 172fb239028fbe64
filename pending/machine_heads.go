package pending

import (
	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

func (m *machine) turned(now fence.Instant, in turned) {
	b := in.Turn.Block
	if in.Turn.Kind != chain.Finalized {
		m.still, m.movedAt = false, now
	}
	switch in.Turn.Kind {
	case chain.Applied:
		if m.head.Number > 0 { // the first head may have what was final before
			m.lookForFinal(in)
		}
		if m.head.Number == 0 { // waiting times begin with the first head
			m.frontSince, m.markedAt, m.lookedAt = b.Number, b.Number, b.Number
			m.strangeAt, m.strangeEnds = b.Number, 0 // the count was read before the height was known
			m.window.growAt += b.Number
		}
		m.head = b
		// After a rewind the noted heights may lie above the head.
		m.frontSince, m.markedAt, m.lookedAt = min(m.frontSince, b.Number), min(m.markedAt, b.Number), min(m.lookedAt, b.Number)
		m.window.growAt = min(m.window.growAt, b.Number+mostWait)
	case chain.Reverted:
		m.unwound = true
		if b.Number <= m.final.Number {
			m.final = chain.Block{} // no longer an ancestor of the head
			m.ahead.forget()
		}
	case chain.Finalized:
		m.final, m.finalBy = b, in.Turn.By
		m.finals++
	}
	if m.phase != working {
		return // everything is looked up after the load
	}
	switch in.Turn.Kind {
	case chain.Applied:
		m.applied(in)
	case chain.Reverted:
		m.reverted(b)
	case chain.Finalized:
		m.finalized(now)
	}
}

func (m *machine) applied(in turned) {
	b := in.Turn.Block
	m.deep.stirred = true // some may be overdue
	count := m.count(in.Count)
	for _, inc := range in.Inclusions {
		count = max(count, inc.Index+1)
		s := m.slots.get(inc.Index)
		if s == nil {
			m.deep.moved(inc.Index, b)
		}
		if s == nil || s.inFinal {
			continue
		}
		m.place(s, &inclusion{Hash: inc.Hash, Block: b, Failed: inc.Failed}, true)
		s.retracted = s.retracted && !s.own()
	}
	m.noteCount(count)
	m.noteBest(count)
	if min(count, m.next) < m.loadedFrom {
		m.phase = blank // final slots may have to be sent again
		return
	}
	m.endPastAlarms()
	for _, s := range m.slots.all() { // one that has left is in a block
		m.notePassed(s, count)
	}
}

// lookForFinal looks for nonces that are stored as final and no longer in memory. They were in other blocks, which have left
// the chain, even if every count of it has been as high as before. So their rows are read again, and looked up.
func (m *machine) lookForFinal(in turned) {
	for _, inc := range in.Inclusions {
		if inc.Index >= m.loadedFrom || m.slots.get(inc.Index) != nil || m.deep.get(inc.Index) != nil {
			continue
		}
		m.readFinal(inc.Index)
	}
}

// readFinal reads the rows again, from a nonce on also those that are final.
func (m *machine) readFinal(from uint64) {
	m.readFrom, m.phase = min(m.readFrom, from), blank
}

// notePassed notes whether the chain counts the slot's nonce as used although no block is known to have it:
// it was missed, or another sender's transaction is there. That is no proof (W14).
func (m *machine) notePassed(s *slot, count uint64) {
	if s.in != nil || count <= s.Index {
		s.passed = 0
		return
	}
	s.doubt = true
	if s.passed == 0 {
		s.passed = m.head.Number
	}
}

// maxLower is how many counts in a row may be below best, although no block has left the chain, before
// they are believed. An endpoint behind which several nodes stand sometimes answers from an older head.
const maxLower = 3

// count returns the account's next nonce, given the count that was read after a block.
func (m *machine) count(count uint64) uint64 {
	if count >= m.best || m.unwound {
		m.unwound, m.lower = false, 0
		return count
	}
	if m.lower++; m.lower < maxLower {
		return m.best
	}
	return count
}

func (m *machine) reverted(b chain.Block) {
	m.best = m.deep.revert(b, m.best)
	for _, s := range m.slots.all() { // in order, since alarms may be raised
		if s.in != nil && s.in.Block.Hash == b.Hash {
			m.retract(s)
			m.best = min(m.best, s.Index)
		} else if s.first.Number >= b.Number {
			s.first, s.spent = chain.Block{}, false // it was linked to a block that has left the chain
		}
		if s.countAt.Number >= b.Number {
			s.countAt = chain.Block{}
		}
	}
}

// retract notes that the slot's block has left the chain. The node may not have put the transaction
// back into its pool, so the last attempt is sent again.
func (m *machine) retract(s *slot) {
	m.alarm(Alarm{Cause: Rewound, Index: s.Index}, s.inFinal || s.Final)
	m.alarm(Alarm{Cause: Disagree, Index: s.Index}, false)
	m.alarm(Alarm{Cause: Consumed, Index: s.Index}, false)
	s.found(nil, false)
	s.inFinal, s.adopted, s.retracted = false, false, true
	_, delivery := s.last()
	delivery.reached = gone
}

// finalized links what was followed from block to block: it is an ancestor of the final block, which is
// one of the head (W1).
func (m *machine) finalized(now fence.Instant) {
	m.deep.stirred = true // those that have left are linked when they come back
	for _, s := range m.slots.all() {
		if s.in != nil && s.streamed && s.first.Hash == "" && s.in.Block.Number <= m.final.Number {
			s.first, s.firstBy = m.final, m.finalBy
		}
	}
	m.checkStrange(now)
}

// checkStrange ends the strange state once every nonce ever seen in the chain is final, by two final
// blocks, and some time has passed: transactions whose rows were lost may still be in a pool (W6).
func (m *machine) checkStrange(now fence.Instant) {
	if m.final.Number >= m.strangeAt {
		m.strangeEnds++
	}
	m.strange = m.strange && (m.strangeEnds < 2 || now < m.strangeUntil)
	m.alarm(Alarm{Cause: Strange, Whole: true}, m.strange)
}
