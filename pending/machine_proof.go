package pending

import "github.com/conchhq/conch/chain"

// A transaction ends its slot after three steps: its block is linked to a final block by parent hashes
// (W1), if another sender has signed it that is proven (W3), and a second witness says the same (W2). For a nonce
// that no transaction has used see machine_vacant.go.

// link asks about the blocks of transactions that a lookup has found: whether they are ancestors of the
// final block, or, in doubt, of the head. Those that were followed from block to block are known to be.
func (m *machine) link() {
	if m.linking || !m.census.unlinked {
		return
	}
	of := m.final
	var slots []place
	for _, s := range m.slots.all() {
		if len(slots) == m.set.MaxBatch {
			break
		}
		if s.toLink(m.final) {
			slots = append(slots, place{Index: s.Index, Block: s.in.Block})
		}
	}
	if len(slots) == 0 && m.head.Hash != "" {
		of = m.head
		for _, s := range m.slots.all() {
			if s.contradicted && s.in != nil && s.in.Block.Number <= m.head.Number && len(slots) < m.set.MaxBatch {
				slots = append(slots, place{Index: s.Index, Block: s.in.Block})
			}
		}
	}
	if len(slots) > 0 {
		m.linking = true
		m.do(link{Of: of, Slots: slots})
	}
}

// toLink reports whether the slot's block may be an ancestor of a final block, and that is not known.
func (s *slot) toLink(final chain.Block) bool {
	return s.in != nil && !s.streamed && !s.inFinal && s.first.Hash == "" && final.Hash != "" && s.in.Block.Number <= final.Number
}

// linked takes which blocks are ancestors. A block that is none has left the chain.
func (m *machine) linked(in linked) {
	m.linking = false
	for _, answer := range in.Answers {
		s := m.slots.get(answer.Index)
		if s == nil || s.in == nil || s.in.Block.Hash != answer.Block.Hash || s.inFinal {
			continue
		}
		s.contradicted = false
		switch {
		case !answer.Linked:
			m.retract(s)
			s.doubt = true
		case in.Of.Hash == m.final.Hash && s.first.Hash == "": // perhaps it was only the head when it was asked about
			s.first, s.firstBy = in.Of, m.finalBy
		}
	}
}

// confirm asks for a second opinion about linked transactions, again with each final block.
func (m *machine) confirm() {
	if m.confirming || !m.census.unconfirmed {
		return
	}
	var claims []claim
	read := 0
	for _, s := range m.slots.all() {
		counts := m.wantsCount(s)
		if !counts && !m.wantsOpinion(s) {
			continue
		}
		one := claim{Index: s.Index, inclusion: inclusion{Block: m.head}, By: s.witnesses[0], At: s.finalAtCount, Still: m.still, Counts: true}
		if !counts {
			one = claim{Index: s.Index, inclusion: *s.in, By: s.firstBy, At: s.first, Still: m.still, Foreign: !s.own() && !s.vacant()}
		}
		if read += one.reads(claims); read > m.mostRead && len(claims) > 0 {
			break
		}
		if claims = append(claims, one); counts {
			s.countAt = m.head
		} else {
			s.asked = m.finals
		}
	}
	if len(claims) > 0 {
		m.confirming = true
		m.do(confirm{Claims: claims})
	}
}

// reads returns how much a claim adds to what is read for those before it. All of one block, in a row, share one reading
// of it: without that a block of thousands would be read anew for each part of them.
func (c claim) reads(before []claim) (n int) {
	if len(before) == 0 || c.Counts || before[len(before)-1].Counts || before[len(before)-1].Block.Hash != c.Block.Hash {
		n++
	}
	if c.Failed || c.Foreign { // its receipt, or its signature
		n++
	}
	return n
}

// readsOf returns what is read for some claims.
func readsOf(claims []claim) (n int) {
	for i, c := range claims {
		n += c.reads(claims[:i])
	}
	return n
}

// wantsOpinion reports whether a second opinion about the slot's transaction is to be asked for.
func (m *machine) wantsOpinion(s *slot) bool {
	return s.first.Hash != "" && !s.inFinal && s.asked < m.finals && (!s.vacant() || s.witnesses[1] != "")
}

// confirmed takes second opinions. A contradiction ends nothing and stops nothing else.
func (m *machine) confirmed(in confirmed) {
	m.confirming, m.mostRead = false, min(2*m.mostRead, m.set.MaxBatch)
	for _, said := range in.Answers {
		s := m.slots.get(said.Index)
		if said.Counts {
			m.counted(s, said)
			continue
		}
		if s == nil || s.in == nil || s.inFinal || s.in.Hash != said.Hash || s.in.Block.Hash != said.Block.Hash || s.first.Hash == "" {
			continue
		}
		by, what := s.firstBy, "its transaction"
		if s.vacant() {
			what = "the block as of which its nonce was counted"
		}
		if said.Stand == chain.Differs && !s.own() || said.Unproven != "" {
			m.retract(s)
			s.doubt = true
		}
		m.alarm(Alarm{Cause: Unproven, Index: s.Index, Why: said.Unproven}, said.Unproven != "")
		m.alarm(Alarm{Cause: Disagree, Index: s.Index, Why: by + " calls " + what + " final; " + said.By + ": " + said.Why}, said.Stand == chain.Differs)
		switch {
		case s.in == nil:
		case said.Stand == chain.Differs: // look again, and believe of its block only what is linked anew
			s.streamed, s.first, s.refuted, s.doubt = false, chain.Block{}, true, true
		case said.Stand == chain.Agrees && s.vacant():
			s.spent = true
		case said.Stand == chain.Agrees:
			s.inFinal, s.adopted, s.witnesses = true, said.Own, [2]string{s.firstBy, said.By}
		}
	}
}
