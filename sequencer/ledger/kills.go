package ledger

// View reads the state after one block.
type View interface {
	// Number returns the block's number.
	Number() uint64
	// Landed returns which attempt of an intent was taken. Both hashes are zero if it was cancelled.
	Landed(in Intent) (assembled, payload Hash, is bool)
	// Unspent reports whether a state is there.
	Unspent(s StateID) bool
}

// Final is the state after one final block.
type Final struct{ View }

// Given is what an owner keeps of a grant that it has given away.
type Given struct {
	Intent
	Assembled  Hash
	ValidUntil uint64
	Needs      []Need // its inputs and reads
}

// Need is a state that an attempt needs, and the attempt that creates it.
type Need struct {
	State     StateID
	Creator   Intent
	Assembled Hash // of the creator
}

// End says why a grant can no longer land.
type End uint8

const (
	// Alive: it can still land.
	Alive End = iota
	// Landed: it did.
	Landed
	// Superseded: another attempt of its intent landed, or the intent was cancelled.
	Superseded
	// Spent: a state that it needs was spent by another attempt.
	Spent
	// Orphaned: the attempt that was to create a state that it needs can no longer land.
	Orphaned
	// Overdue: its last block is final.
	Overdue
)

var ends = [...]string{"alive", "landed", "superseded", "spent", "orphaned", "overdue"}

func (e End) String() string { return ends[e] }

// Kills returns what ends a grant. All is read in one block: with the intent read in one block and the number of a later
// one, a grant that landed between them would count as dead. A state never comes back once it was spent, so Spent and
// Orphaned are for ever.
func (f Final) Kills(g Given) End {
	if assembled, _, is := f.Landed(g.Intent); is {
		if assembled == g.Assembled {
			return Landed
		}
		return Superseded
	}
	for _, need := range g.Needs {
		switch assembled, _, is := f.Landed(need.Creator); {
		case !is: // it may still be created
		case assembled != need.Assembled:
			return Orphaned
		case !f.Unspent(need.State):
			return Spent
		}
	}
	if f.Number() >= g.ValidUntil {
		return Overdue
	}
	return Alive
}
