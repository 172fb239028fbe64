package pending

import "errors"

// hold returns why no waiting intent gets a slot, the zero Hold if nothing is in the way or none waits
// (W17).
func (m *machine) hold() Hold {
	switch {
	case m.queued == 0:
		return Hold{}
	case m.strange:
		return Hold{Why: "strange: the database was restored or has failed over, so rows may be lost; no nonce is assigned until all that the chain has are final"}
	case m.ahead.count > m.next:
		return Hold{Intent: m.ahead.clash, Why: "ahead: the chain counts nonces as used of which no row is known; no nonce is assigned until their transactions are read"}
	case m.census.capped != nil && m.roomBehindCap() == 0:
		return Hold{Why: m.capHold()}
	}
	return m.stopped
}

// holdOf returns the hold for an error of signing.
func holdOf(why error) Hold {
	if why == nil {
		return Hold{}
	}
	hold := Hold{Why: why.Error()}
	if held, ok := errors.AsType[*heldError](why); ok {
		hold = Hold{Intent: held.intent, Why: held.why.Error()}
	}
	return hold
}
