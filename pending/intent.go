package pending

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

// ID names an intent: a UUID.
type ID [16]byte

// Intent is a wish to have one call done once. It never changes. It is done when a
// transaction that carries it is final on the chain.
type Intent struct {
	ID      ID
	Account chain.Account
	// Key is the caller's own name for the wish: the same key again is the same
	// intent, and with another call it is an error. Unique per account.
	Key     string
	Call    chain.Call
	Creator string // who accepted it
	Created time.Time
}

// Attempt is a signed transaction for a slot, as it is stored before it may leave.
type Attempt struct {
	chain.Signed
	Filler bool // it does nothing but use the slot up
}

// Slot is one index of the account with its one intent and all attempts for it,
// as stored. Without an intent it is there to close a gap.
type Slot struct {
	Index    uint64
	Intent   *ID
	Attempts []Attempt // in the order in which they were signed, fees rising
	// Before is how many attempts are stored before these, of a slot that is written.
	Before int
	Since  uint64 // the chain's height when it was stored: it cannot be in an earlier block
	// Final says that it was final once: the chain has taken that back.
	Final bool
	// Cancel says that its intent shall not be done any more, if that is still possible.
	Cancel bool
}

// Snapshot is everything about an account that is not final, as stored (S20).
type Snapshot struct {
	Slots []Slot // by index
	// Next is one more than the highest index that was ever stored.
	Next uint64
	// Queued is how many intents have no slot yet; more than a few hundred need not be counted.
	Queued int
	// Strange says that the database's history is another one than when the account
	// was last worked on: rows may have been lost.
	Strange bool
}

// Change is what became of a slot, to be stored.
type Change struct {
	Index  uint64
	Status Status
	Hash   chain.Hash // the attempt it is said of
	Block  chain.Block
	// Intent says what it means for the intent, once nothing more will happen to the slot.
	Intent Fate
	Failed bool   // final, but its call had no effect
	Why    string // why the chain does not take the intent's call, if it said so
}

// NoWords is why an intent is rejected of which the chain has said no more.
const NoWords = "the chain does not take its call"

// Fate is how an intent ends.
type Fate uint8

const (
	// Open: not decided.
	Open Fate = iota
	// Done: a transaction that carries it is final.
	Done
	// Cancelled: a filler is final in its slot.
	Cancelled
	// Again: a foreign transaction is final in its slot; it gets another.
	Again
	// Rejected: the chain does not take its call.
	Rejected
)

var fates = [...]string{"open", "done", "cancelled", "again", "rejected"}

func (f Fate) String() string { return fates[f] }

// MarshalText writes the fate's word.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads it.
func (f *Fate) UnmarshalText(text []byte) error {
	i := slices.Index(fates[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no fate of an intent", text)
	}
	*f = Fate(i)
	return nil
}

// Record is an intent and what became of it so far.
type Record struct {
	Intent
	Fate   Fate
	Why    string  // Rejected, or about to be: the chain's words
	Index  *uint64 // nil: it waits for a slot
	Last   Change  // as last stored
	Cancel bool
}
