package pending

import "github.com/conchhq/conch/chain"

func (m *machine) turned(in turned) {
	if in.Turn.Kind == chain.Applied {
		if m.head.Number == 0 { // waiting times begin with the first head
			m.frontSince, m.markedAt, m.lookedAt = in.Turn.Block.Number, in.Turn.Block.Number, in.Turn.Block.Number
		}
		m.head = in.Turn.Block
		// After a rewind the noted heights may lie above the head.
		m.frontSince, m.markedAt, m.lookedAt = min(m.frontSince, m.head.Number), min(m.markedAt, m.head.Number), min(m.lookedAt, m.head.Number)
	}
	if m.phase != working {
		return // everything is looked up after the load
	}
	switch in.Turn.Kind {
	case chain.Applied:
		m.applied(in)
	case chain.Reverted:
		m.reverted(in.Turn.Block)
	case chain.Finalized:
		m.finalized(in)
	}
}

func (m *machine) applied(in turned) {
	for _, inc := range in.Inclusions {
		s := m.slots.get(inc.Index)
		if s == nil || s.inFinal {
			continue
		}
		s.in = &inclusion{Hash: inc.Hash, Block: in.Turn.Block, Failed: inc.Failed}
		s.streamed, s.doubt, s.spent, s.payMore = true, false, false, false
		s.retracted = s.retracted && !s.own()
	}
	m.noteBest(in.Count)
	if m.best < m.loadedFrom {
		m.phase = blank // final slots may have to be sent again
		return
	}
	m.endPastAlarms()
	for _, s := range m.slots.all() {
		if s.Index >= m.best {
			break
		}
		if s.in == nil {
			s.doubt = true // its block was missed, or another sender's transaction is in one
		}
	}
}

func (m *machine) reverted(b chain.Block) {
	for _, s := range m.slots.all() { // in order, since alarms may be raised
		if s.in != nil && s.in.Block.Hash == b.Hash {
			m.retract(s)
		}
	}
}

// retract notes that the slot's block has left the chain. The node may not have put the transaction
// back into its pool, so the last attempt is sent again.
func (m *machine) retract(s *slot) {
	m.alarm(Alarm{Cause: Rewound, Index: s.Index}, s.inFinal)
	s.in, s.streamed, s.inFinal, s.retracted = nil, false, false, true
	_, delivery := s.last()
	delivery.reached = gone
}

func (m *machine) finalized(in turned) {
	m.finalHeight = max(m.finalHeight, in.Turn.Block.Number)
	for _, s := range m.slots.all() {
		switch {
		case s.in == nil || s.inFinal || s.in.Block.Number > in.Turn.Block.Number:
		case s.streamed:
			s.inFinal = s.Index < in.Count // the height alone does not prove it: after a rewind, heights come again
		default:
			s.doubt = true // found by a lookup, so no turn would have reported that its block left
		}
	}
	m.checkStrange(in.Count)
}
