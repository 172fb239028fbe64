package chunksync

// Keeper is what a node has durably promised and what it holds. It decides what a node
// may still take, on the leader's own disk as on a follower's; it is pure, and the
// store and the simulated world ask the same one.
type Keeper struct {
	Promised Reign   // whom it hears, and nobody before
	Holder   string  // under which name
	Held     Version // of its last complete catalog
}

// Hear says what the node is to promise before it answers a leader: itself, changed if
// the promise is a new one, or a *[StaleError].
//
// Of two terms with one epoch the first that comes is heard. Both can exist only after
// a database lost its history twice, and no order tells which one is right.
func (k Keeper) Hear(r Reign, holder string) (Keeper, error) {
	if r.Epoch < k.Promised.Epoch || r.Epoch == k.Promised.Epoch && r.Term != k.Promised.Term && k.Promised != (Reign{}) {
		return k, &StaleError{Got: r, Promised: k.Promised, Holder: k.Holder}
	}
	k.Promised, k.Holder = r, holder
	return k, nil
}

// Fresh tells a catalog that is to be taken from one that the node has overtaken: the
// same leader's, that came late or twice. Hear has said yes before.
func (k Keeper) Fresh(v Version) bool { return v.Compare(k.Held) > 0 }
