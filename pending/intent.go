package pending

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

// ID is the UUID of an intent.
type ID [16]byte

// Intent asks for one call to be carried out once. It never changes.
type Intent struct {
	ID      ID
	Account chain.Account
	// Key is the caller's idempotency key, unique per account and space: the same key with the same call is
	// the same intent, and with another call an error. Intents without a key are all different.
	Key string
	// Space is empty for what callers ask for. A part of conch that hands intents in itself has a space of its own, so that no caller can
	// find, guess or take its keys. A store need not say it, and may delete intents with one that have ended long ago.
	Space string
	Call  chain.Call
	// After the block LastBlock, and from ValidUntil on (by the store's clock), the call is of no use: from then on the intent gets no slot,
	// and ends as Expired. One that has a slot by then, and is in no block, is called back: a filler takes its nonce, and it ends as Expired
	// once that is final, or as Done if its call was faster. With a Space it goes on instead. Zero: for ever.
	LastBlock  uint64
	ValidUntil time.Time
	Terms
	Creator string // the node that accepted it
	Token   string // the caller's by name, if its policy says which intents it sees; else empty
	Created time.Time
}

// Terms say how the call of an intent is sent.
type Terms struct {
	Speed chain.Speed
	// MaxFee is the most that an attempt with the call offers for a unit of gas, in the chain's smallest unit; nil: as much as the account
	// may. A filler that takes its nonce may offer more.
	MaxFee *big.Int
}

// same reports whether both are the same.
func (t Terms) same(other Terms) bool {
	a, b := t.MaxFee, other.MaxFee
	return t.Speed == other.Speed && (a == nil) == (b == nil) && (a == nil || a.Cmp(b) == 0)
}

// Asks reports whether both intents ask for the same, so that they may have the same key. A deadline is not compared: who asks again
// may have counted it from another instant, and that of the first one counts.
func (in Intent) Asks(other Intent) bool { return in.Call.Equal(other.Call) && in.same(other.Terms) }

// Below returns the most that an attempt with the call may pay where the account may pay most, and whether that is the intent's own limit.
func (t Terms) Below(most chain.Fee) (_ chain.Fee, own bool) {
	if own = t.MaxFee != nil && (most.Max == nil || t.MaxFee.Cmp(most.Max) < 0); own {
		most.Max = t.MaxFee
	}
	return most, own
}

// Slot is one nonce of an account. Load returns it with all its attempts. In a Batch it has only the
// new ones, and Final and Cancel have no meaning.
type Slot struct {
	Index    uint64         // the nonce; package chain's word for it
	Intent   *ID            // nil: it fills a gap, or its intent was sent back to wait for another slot
	Attempts []chain.Signed // stored before they are sent; in the order of signing; the fees do not fall
	Before   int            // for Write: the number of attempts stored before these
	Value    *big.Int       // what the call of its intent transfers; nil is 0
	Terms                   // those of its intent
	Deadline                // likewise
	Since    uint64         // the chain's height at signing; searches begin some blocks below it, for reorganisations
	Final    bool           // from Load: it was stored as final
	Cancel   bool           // from Load: the cancellation of its intent was requested
	Last     Change         // from Load: the state last stored, without Intent, Why and Witnesses
	// Age, from Load, is how long ago that was, by the store's clock. So a leader change does not make what waits for
	// finality younger.
	Age time.Duration
}

// Run stands for slots whose transactions are in one block and not final. Each of its nonces has a slot, whose
// last stored status is InBlock or, if Late, FinalityTimeout, and which waits for nothing else (Waits).
type Run struct {
	First, Last uint64 // nonces
	Block       chain.Block
	Late        bool
	Age         time.Duration // as in Slot, of the first nonce
}

// Deadline is until when a call is of use, if it is called back then: that of an intent without a Space.
type Deadline struct {
	LastBlock uint64        // as in Intent
	Left      time.Duration // from when it was read until its ValidUntil; 0: it has none, or is Late
	Late      bool          // its ValidUntil had come by then, or a leader has called it back
}

// Snapshot is what Load returns: the slots that are not final, and the final ones from a nonce on (S20). A slot is
// in Slots or in one of the Runs.
type Snapshot struct {
	Slots   []Slot // in the order of their nonces
	Runs    []Run  // in the order of their nonces
	Next    uint64 // one more than the highest nonce ever stored
	Since   uint64 // the chain's height at which the slot of the highest nonce was signed
	Waits          // Queued with those that are put off: the leader before may have had another order
	Strange bool   // the database failed over or was restored since the account's last write: rows may be lost
	Hold    Hold   // the account's, as stored

	Life  Life   // the newest of the account
	Until uint64 // the highest Until of its attempts in that life
	Begun bool   // an attempt of an intent was signed in that life
}

// Life is a part of an account's rows: what was signed from one creation of the account to the next, where a chain lets accounts cease to
// exist (chain.Description.Lives). The chain counts nonces anew in each, and the rows go on: in a life the chain's nonce is Index - First.
// The zero Life is the first one.
type Life struct {
	Number uint64
	First  uint64 // the Index of its nonce 0
	Since  uint64 // a height below which no block has any of its transactions
	Over   bool   // a person has said that it is over
}

// Change is the new state of a slot, to be stored.
type Change struct {
	Index  uint64
	Status Status
	Hash   chain.Hash   // the transaction that Status describes; another sender's, or none (W14), if it is Usurped
	Block  chain.Block  // the block that includes it, if any
	Intent Fate         // what it means for the slot's intent
	Effect chain.Effect // what it has done in that block; zero without one
	Why    string       // the chain's reason for refusing the intent's call, if any
	// Witnesses are the two endpoints that called the end final, or the same one twice.
	Witnesses [2]string
	Waits     string // what the slot waits for, beyond the usual, for people
}

// Hold says why an intent gets no slot, for people; as the account's, why none behind it does. The zero Hold ends one.
type Hold struct {
	Intent ID // zero if the reason concerns the account
	Why    string
}

// Fate tells how an intent ended, or that it has not.
type Fate uint8

const (
	// Open: it has not ended.
	Open Fate = iota
	// Done: a transaction with its call is final.
	Done
	// Cancelled: cancellation was requested, and a filler or another sender used its nonce, or it had
	// no slot.
	Cancelled
	// Again, in a Change only: another sender's transaction is final in its slot, or its nonce is used up. The store detaches
	// the intent, which is Open and waits for a new slot, or is Cancelled if that was requested.
	Again
	// Rejected: the chain will never take its call. If it had a slot, something else is final there.
	Rejected
	// Expired: its LastBlock or its ValidUntil had come before it got a slot, or something else is final there.
	Expired
)

var fates = [...]string{"open", "done", "cancelled", "again", "rejected", "expired"}

func (f Fate) String() string { return fates[f] }

// MarshalText returns the fate's word.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a fate's word.
func (f *Fate) UnmarshalText(text []byte) error {
	i := slices.Index(fates[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is not a fate of an intent", text)
	}
	*f = Fate(i)
	return nil
}

// Record is an intent and its state, as stored.
type Record struct {
	Intent
	Fate   Fate
	Why    string  // the chain's reason, if the intent is or will be rejected
	Index  *uint64 // the nonce of its slot; nil if it has none
	First  uint64  // of the Life of its slot: the chain counts the nonce as Index - First
	Last   Change  // the last stored state of its slot, or of the slot that it lost; zero if it had none
	Cancel bool    // its cancellation was requested
	// Version grows with each change of what is told of the intent, but not with those of Hold, which is the account's.
	Version uint64
	// Place is where it is in a list of all intents of all chains: the later it was accepted, the higher; 0 if the store says nothing of it.
	Place uint64
	Hold  Hold // why it waits for a slot, if it does and that is known

	Refusal Refusal       // why it got no slot when it was tried, if it waits for one
	Late    bool          // from Queue: its ValidUntil has come, by the store's clock; else: a leader has called it back
	Left    time.Duration // from Queue, as in Deadline

	HoldSince time.Time // since when, if the store keeps that
	Changed   time.Time // when the state of its slot was last stored; zero if it has none
}
