package chunksync

// promise is the durable state of a node: the leader that it follows and the version that
// it holds. It is pure and decides what the node may take, whether it leads or follows.
type promise struct {
	Tenure Tenure  // the leader that the node follows
	Holder string  // the ID of that leader
	Held   Version // the version of the last complete catalog
}

// raise returns the promise that the node must store before it answers the leader of t, or
// a *[StaleError] if it must refuse that leader.
//
// Of two terms with one epoch, the node follows the first to ask. Two can exist only after
// a database has lost its history twice, and no order tells which is right.
func (p promise) raise(t Tenure, holder string) (promise, error) {
	if t.Epoch < p.Tenure.Epoch || t.Epoch == p.Tenure.Epoch && t.Term != p.Tenure.Term && p.Tenure != (Tenure{}) {
		return p, &StaleError{Got: t, Promised: p.Tenure, Holder: p.Holder}
	}
	p.Tenure, p.Holder = t, holder
	return p, nil
}

// fresh reports whether v is newer than what the node holds. An offer that arrives late or
// twice is not. The caller has raised the promise before.
func (p promise) fresh(v Version) bool { return v.Compare(p.Held) > 0 }
