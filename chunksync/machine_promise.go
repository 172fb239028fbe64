package chunksync

// promise is what a node has durably promised and what it holds. It decides what a node
// may still take, on the leader's own disk as on a follower's; it is pure, and the
// store and the simulated world ask the same one.
type promise struct {
	Tenure Tenure  // whom it hears, and nobody before
	Holder string  // under which name
	Held   Version // of its last complete catalog
}

// raise says what the node is to promise before it answers a leader: itself, changed if
// the promise is a new one, or a *[StaleError].
//
// Of two terms with one epoch the first that comes is heard. Both can exist only after
// a database lost its history twice, and no order tells which one is right.
func (p promise) raise(t Tenure, holder string) (promise, error) {
	if t.Epoch < p.Tenure.Epoch || t.Epoch == p.Tenure.Epoch && t.Term != p.Tenure.Term && p.Tenure != (Tenure{}) {
		return p, &StaleError{Got: t, Promised: p.Tenure, Holder: p.Holder}
	}
	p.Tenure, p.Holder = t, holder
	return p, nil
}

// fresh tells a catalog that is to be taken from one that the node has overtaken: the
// same leader's, that came late or twice. Hear has said yes before.
func (p promise) fresh(v Version) bool { return v.Compare(p.Held) > 0 }
