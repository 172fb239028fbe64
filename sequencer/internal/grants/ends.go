// Package grants says what a grant is worth: what proves it, and what ends it.
//
// Only the ledger ends a grant, read in one final block ([Kills]). What members say ("returned", "unknown", "gave up") allows a
// further grant at once, and nothing more: the ledger takes one of them.
package grants

import "github.com/conchhq/conch/sequencer/ledger"

// Given is what an owner keeps of a grant that it has given away.
type Given struct {
	ledger.Intent
	Assembled  ledger.Hash
	ValidUntil uint64
	Needs      []Need // its inputs and reads
}

// Need is a state that an attempt needs, and the attempt that creates it.
type Need struct {
	State     ledger.StateID
	Creator   ledger.Intent
	Assembled ledger.Hash // of the creator
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

// Kills returns what ends a grant. All is read in one final block: with the intent read in one block and the number of a later
// one, a grant that landed between them would count as dead. A state never comes back once it was spent, so Spent and
// Orphaned are for ever.
func Kills(final ledger.View, g Given) End {
	if assembled, _, is := final.Landed(g.Intent); is {
		if assembled == g.Assembled {
			return Landed
		}
		return Superseded
	}
	for _, need := range g.Needs {
		switch assembled, _, is := final.Landed(need.Creator); {
		case !is: // it may still be created
		case assembled != need.Assembled:
			return Orphaned
		case !final.Unspent(need.State):
			return Spent
		}
	}
	if final.Number() >= g.ValidUntil {
		return Overdue
	}
	return Alive
}
