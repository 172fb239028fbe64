package pending

import (
	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// proving decides when the transaction of a slot is final, so that the slot has ended. It takes three steps: its block is
// linked to a final block by parent hashes (W1), if another sender has signed it that is proven (W3), and a second
// witness says the same (W2). A contradiction sends the slot back to finding.
//
// It takes linked and confirmed. It asks for link and confirm. What it knows of a slot is in the slot.
type proving struct{ *account }

// askLink asks about the blocks of transactions that a lookup has found: whether they are ancestors of the
// final block, or, in doubt, of the head. Those that were followed from block to block are known to be.
func (p *proving) askLink() {
	if p.underway.isUnderway(toLink) || !p.census.unlinked {
		return
	}
	of := p.final
	var slots []place
	for _, s := range p.slots.inOrder() {
		if len(slots) == p.set.MaxBatch {
			break
		}
		if s.isUnlinked(p.final) {
			slots = append(slots, place{Index: s.Index, Block: s.in.Block})
		}
	}
	if len(slots) == 0 && p.head.Hash != "" {
		of = p.head
		for _, s := range p.slots.inOrder() {
			if s.contradicted && s.in != nil && s.in.Block.Number <= p.head.Number && len(slots) < p.set.MaxBatch {
				slots = append(slots, place{Index: s.Index, Block: s.in.Block})
			}
		}
	}
	if len(slots) > 0 {
		p.giveOrder(link{Of: of, Slots: slots})
	}
}

// isUnlinked reports whether the slot's block may be an ancestor of a final block, and that is not known.
func (s *slot) isUnlinked(final chain.Block) bool {
	return s.in != nil && !s.streamed && !s.inFinal && s.first.Hash == "" && final.Hash != "" && s.in.Block.Number <= final.Number
}

// takeLinked takes which blocks are ancestors. A block that is none has left the chain. A lookup may find it there again, since another node
// answers: the second time nothing is read for a moment, or the two would be asked in turn as fast as they answer.
func (p *proving) takeLinked(now fence.Instant, in linked) {
	for i, one := range in.Slots {
		s := p.slots.slotAt(one.Index)
		if s == nil || s.in == nil || s.in.Block.Hash != one.Block.Hash || s.inFinal {
			continue
		}
		s.contradicted = false
		switch {
		case !in.Are[i]:
			p.retractSlot(s)
			if s.strayed != 0 && now < s.strayed.Add(p.set.Retry) {
				p.pace.reread = now.Add(p.set.Retry)
			}
			s.doubt, s.strayed = true, now
		case in.Of.Hash == p.final.Hash && s.first.Hash == "": // perhaps it was only the head when it was asked about
			s.first, s.firstBy = in.Of, p.finalBy
		}
	}
}

// askConfirm asks for a second opinion about linked transactions, again with each final block.
func (p *proving) askConfirm() {
	if p.underway.isUnderway(toConfirm) || !p.census.unconfirmed {
		return
	}
	var claims []claim
	read := 0
	for _, s := range p.slots.inOrder() {
		counts := s.wantsCount(&p.tip)
		if !counts && !s.wantsOpinion(p.finals) {
			continue
		}
		one := claim{Claim: chain.Claim{Inclusion: chain.Inclusion{Index: s.Index, Block: p.head}, By: s.witnesses[0], At: s.finalAtCount, Still: p.still, Counts: true}}
		if !counts {
			one = claim{Claim: chain.Claim{Inclusion: *s.in, By: s.firstBy, At: s.first, Still: p.still}, Foreign: !s.isOwn() && !s.isVacant()}
		}
		if read += one.addsReads(claims); read > readsAlone*p.pace.mostRead && len(claims) > 0 {
			break
		}
		if claims = append(claims, one); counts {
			s.countAt = p.head
		} else {
			s.asked = p.finals
		}
	}
	if len(claims) > 0 {
		p.giveOrder(confirm{Claims: claims})
	}
}

// readsAlone is what a claim reads that shares nothing: the block, and a receipt.
const readsAlone = 2

// addsReads returns how much a claim adds to what is read for those before it. All of one block, in a row, share one reading
// of it, and of its receipts from chain.ReceiptsApart on: without that a block of thousands would be read anew for each part
// of them.
func (c claim) addsReads(before []claim) (n int) {
	row := 0 // how many of its block are right before it
	for row < min(len(before), chain.ReceiptsApart) && !c.Counts && !before[len(before)-1-row].Counts && before[len(before)-1-row].Block.Hash == c.Block.Hash {
		row++
	}
	if row == 0 {
		n++
	}
	if c.Hash != "" && row < chain.ReceiptsApart { // its receipt
		n++
	}
	if c.Foreign { // its signature
		n++
	}
	return n
}

// readsOf returns what is read for some claims.
func readsOf(claims []claim) (n int) {
	for i, c := range claims {
		n += c.addsReads(claims[:i])
	}
	return n
}

// wantsOpinion reports whether a second opinion about the slot's transaction is to be asked for.
func (s *slot) wantsOpinion(finals uint64) bool {
	return s.first.Hash != "" && !s.inFinal && s.asked < finals && (!s.isVacant() || s.witnesses[1] != "")
}

// takeConfirmed takes second opinions. A contradiction ends nothing and stops nothing else.
func (p *proving) takeConfirmed(in confirmed) {
	p.pace.readWell(p.set.MaxBatch)
	for _, about := range in.Claims {
		s, said := p.slots.slotAt(about.Index), about.Said
		if about.Counts {
			p.takeCounted(s, about.Block, said)
			continue
		}
		if s == nil || s.in == nil || s.inFinal || s.in.Hash != about.Hash || s.in.Block.Hash != about.Block.Hash || s.first.Hash == "" {
			continue
		}
		by, what := s.firstBy, "its transaction"
		if s.isVacant() {
			what = "the block as of which its nonce was counted"
		}
		if said.Stand == chain.Differs && !s.isOwn() || about.Unproven != "" {
			p.retractSlot(s)
			s.doubt = true
		}
		p.setAlarm(Alarm{Cause: Unproven, Index: s.Index, Why: about.Unproven}, about.Unproven != "")
		p.setAlarm(Alarm{Cause: Disagree, Index: s.Index, Why: by + " calls " + what + " final; " + said.By + ": " + said.Why}, said.Stand == chain.Differs)
		switch {
		case s.in == nil:
		case said.Stand == chain.Differs: // look again, and believe of its block only what is linked anew
			s.streamed, s.first, s.refuted, s.doubt = false, chain.Block{}, true, true
		case said.Stand == chain.Agrees && s.isVacant():
			s.spent = true
		case said.Stand == chain.Agrees:
			p.noteEffect(s, said)
			s.noteFinal()
			s.adopted, s.witnesses = about.Own, [2]string{s.firstBy, said.By}
			if _, fate := s.finalState(); fate == Done && s.in.Effect.Kind == chain.EffectUnknown {
				p.setAlarm(Alarm{Cause: Untold, Index: s.Index, Why: "no endpoint has the state any more that tells it"}, true)
			}
		}
	}
}

// noteEffect takes whether a second witness knows the effect too. What one alone says is not known: it is told as such, since
// no later look would find what is no longer kept (Z10).
func (p *proving) noteEffect(s *slot, said chain.Opinion) {
	if said.Blind {
		in := *s.in
		in.Effect = chain.Effect{}
		s.in = &in
	}
}

// A nonce is vacant if the chain counts it as used and no block has a transaction with it: an authorization
// (EIP-7702) or a contract at the account's address has used it. The counts that come with heads are no proof,
// since all may be those of a dead branch, while an attempt can still be included. So it is given up only after
// these steps (W14). A transaction with the nonce that turns up meanwhile, in a new head, by a lookup that was
// under way or in the second search, ends them:
//
//  1. A search finds no transaction (suspectVacant).
//  2. Two witnesses count the nonce as used in the state after a block, by its hash (takeCounted).
//  3. That block is final by two witnesses, as that of a transaction is (takeConfirmed).
//  4. A search up to that final block finds no transaction either (takeFound).

// isVacant reports whether the slot waits for the proof that no transaction has used its nonce. The block of in is
// the one as of which the nonce was last counted.
func (s *slot) isVacant() bool { return s.in != nil && s.in.Hash == "" && !s.inFinal }

// wantsCount reports whether a witness is to be asked, as of each new head until it says something. After a block
// has left the chain it waits for the next head.
func (s *slot) wantsCount(t *tip) bool {
	return s.isVacant() && s.witnesses[1] == "" && !t.unwound && t.head.Number > s.countAt.Number
}

// takeCounted takes a witness's count as of a block.
func (p *proving) takeCounted(s *slot, asOf chain.Block, said chain.Opinion) {
	if s == nil || !s.isVacant() || asOf.Hash != s.countAt.Hash {
		return // it has been found meanwhile, or that block has left the chain
	}
	switch said.Stand {
	case chain.Differs: // the counts of the heads were false, or that of the first witness
		first := s.witnesses[0]
		p.retractSlot(s)
		s.uncounted, s.doubt = true, true
		p.best = min(p.best, s.Index)
		p.setAlarm(Alarm{Cause: Disagree, Index: s.Index, Why: first + " counts its nonce as used; " + said.By + ": " + said.Why}, first != "")
	case chain.Agrees:
		s.in, s.first = &chain.Inclusion{Index: s.Index, Block: asOf}, chain.Block{}
		if s.witnesses[0] == "" {
			s.witnesses[0], s.finalAtCount = said.By, p.final
		} else {
			s.witnesses[1] = said.By
		}
	case chain.Mute:
		if s.waits == Consumed.String() { // once, since the words may change with each block
			s.waits += ": " + said.Why
		}
	}
}
