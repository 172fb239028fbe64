package ledger

// Proven reports whether an entry has all that the members owe it: its owner's grant for the account that sends it, and
// enough endorsements. Nobody can make that up. Whether it still lands is another question: it may be over, or repeated, or
// its states may be gone.
func (c Contract) Proven(s Scheme, by Account, e Entry) bool {
	assembled := s.Assembled(c, e.Attempt)
	return c.place(e.Owner) >= 0 && c.granted(s, by, e, assembled) && c.endorsed(s, e.Endorsements, assembled)
}

func (c Contract) granted(s Scheme, by Account, e Entry, assembled Hash) bool {
	g := e.Grant
	return g.Assembled == assembled && g.Coordinator == by && s.Verify(e.Owner, s.Granted(c, g), g.Signature)
}

func (c Contract) endorsed(s Scheme, by []Endorsement, assembled Hash) bool {
	last := -1
	for _, e := range by {
		if e.Member <= last || e.Member >= len(c.Members) || !s.Verify(c.Members[e.Member], assembled, e.Signature) {
			return false
		}
		last = e.Member
	}
	return len(by) >= c.Needed
}
