package pending

import "github.com/conchhq/conch/chain"

// A nonce is vacant if the chain counts it as used and no block has a transaction with it: an authorization
// (EIP-7702) or a contract at the account's address has used it. The counts that come with heads are no proof,
// since all may be those of a dead branch, while an attempt can still be included. So it is given up only after
// these steps (W14). A transaction with the nonce that turns up meanwhile, in a new head, by a lookup that was
// under way or in the second search, ends them:
//
//  1. A search finds no transaction (suspect).
//  2. Two witnesses count the nonce as used in the state after a block, by its hash (counted).
//  3. That block is final by two witnesses, as that of a transaction is (confirmed).
//  4. A search up to that final block finds no transaction either (found).

// vacant reports whether the slot waits for the proof that no transaction has used its nonce. The block of in is
// the one as of which the nonce was last counted.
func (s *slot) vacant() bool { return s.in != nil && s.in.Hash == "" && !s.inFinal }

// suspect notes that a search has found no transaction.
func (m *machine) suspect(s *slot) {
	m.place(s, &inclusion{Block: m.head}, true)
	m.alarm(Alarm{Cause: Consumed, Index: s.Index}, true)
}

// wantsCount reports whether a witness is to be asked, as of each new head until it says something. After a block
// has left the chain it waits for the next head.
func (m *machine) wantsCount(s *slot) bool {
	return s.vacant() && s.witnesses[1] == "" && !m.unwound && m.head.Number > s.countAt.Number
}

// counted takes a witness's count.
func (m *machine) counted(s *slot, said confirmation) {
	if s == nil || !s.vacant() || said.Block.Hash != s.countAt.Hash {
		return // it has been found meanwhile, or that block has left the chain
	}
	switch said.Stand {
	case chain.Differs: // the counts of the heads were false, or that of the first witness
		first := s.witnesses[0]
		m.retract(s)
		s.uncounted, s.doubt = true, true
		m.best = min(m.best, s.Index)
		m.alarm(Alarm{Cause: Disagree, Index: s.Index, Why: first + " counts its nonce as used; " + said.By + ": " + said.Why}, first != "")
	case chain.Agrees:
		s.in, s.first = &inclusion{Block: said.Block}, chain.Block{}
		if s.witnesses[0] == "" {
			s.witnesses[0], s.finalAtCount = said.By, m.final
		} else {
			s.witnesses[1] = said.By
		}
	case chain.Mute:
		if s.waits == Consumed.String() { // once, since the words may change with each block
			s.waits += ": " + said.Why
		}
	}
}
