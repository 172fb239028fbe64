package pending

import "github.com/conchhq/conch/chain"

// A nonce is vacant if the chain counts it as used and no block has a transaction with it: an authorization
// (EIP-7702) or a contract at the account's address has used it. The counts that come with heads are no proof,
// since all may be those of a dead branch, on which another attempt is included. So two witnesses count as of a
// block by its hash, each as of the head when it is asked, the second one once the first one's block is final;
// and both blocks have to become final before the nonce is given up (W14).

// vacant reports whether the slot's place in the chain is such a block.
func (s *slot) vacant() bool { return s.in != nil && s.in.Hash == "" && !s.inFinal }

// suspect takes that two searches have found no transaction.
func (m *machine) suspect(s *slot) {
	m.place(s, &inclusion{Block: m.head}, true)
	m.alarm(Alarm{Cause: Consumed, Index: s.Index}, true)
}

// wantsCount reports whether a witness is to be asked, as of each new head until it says something. A head that
// has left the chain is none.
func (m *machine) wantsCount(s *slot) bool {
	return s.vacant() && !m.unwound && m.head.Number > s.countAt.Number && (s.witnesses[0] == "" || s.first.Hash != "")
}

// counted takes a witness's count.
func (m *machine) counted(s *slot, said confirmation) {
	if said.Block.Hash != s.countAt.Hash {
		return // that block has left the chain
	}
	switch said.Stand {
	case chain.Differs: // the counts of the heads were false
		m.retract(s)
		s.doubt = true
	case chain.Agrees:
		s.in, s.first = &inclusion{Block: said.Block}, chain.Block{}
		if s.witnesses[0] == "" {
			s.witnesses[0] = said.By
		} else {
			s.witnesses[1] = said.By
		}
	case chain.Mute:
		if s.waits == Consumed.String() { // once, since the words may change with each block
			s.waits += ": " + said.Why
		}
	}
}

// giveUp ends a slot's search for witnesses once the block of the second one is final, too.
func (s *slot) giveUp() {
	if s.vacant() && s.witnesses[1] != "" {
		s.inFinal = true
	}
}
