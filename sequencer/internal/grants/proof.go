package grants

import (
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Proven reports whether an entry has all that the members owe it: its owner's grant for the account that sends it, and
// enough endorsements. Nobody can make that up. Whether it still lands is another question: it may be over, or repeated, or
// its states may be gone.
func Proven(c ledger.Contract, s ledger.Scheme, by ledger.Account, e ledger.Entry) bool {
	assembled := s.Assembled(c, e.Attempt)
	return slices.Contains(c.Members, e.Owner) && Granted(c, s, by, e, assembled) && Endorsed(c, s, e.Endorsements, assembled)
}

// Granted reports whether the owner of an entry has granted it to the account that sends it.
func Granted(c ledger.Contract, s ledger.Scheme, by ledger.Account, e ledger.Entry, assembled ledger.Hash) bool {
	g := e.Grant
	return g.Assembled == assembled && g.Coordinator == by && s.Verify(e.Owner, s.Granted(c, g), g.Signature)
}

// Endorsed reports whether enough members have signed an assembled hash, in rising order.
func Endorsed(c ledger.Contract, s ledger.Scheme, by []ledger.Endorsement, assembled ledger.Hash) bool {
	last := -1
	for _, e := range by {
		if e.Member <= last || e.Member >= len(c.Members) || !s.Verify(c.Members[e.Member], assembled, e.Signature) {
			return false
		}
		last = e.Member
	}
	return len(by) >= c.Needed
}
