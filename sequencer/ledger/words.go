package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Hash is the hash of something that is signed or named.
type Hash [32]byte

func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// Account is what a member signs with: a public key, or an address made of one.
type Account string

// String returns 0x and the bytes in hexadecimal, in small letters: the form for people, and for the states of a domain.
func (a Account) String() string { return "0x" + hex.EncodeToString([]byte(a)) }

// StateID names a state. It is derived from the attempt that creates it.
type StateID Hash

func (s StateID) String() string { return Hash(s).String() }

// Compare orders names as numbers, big-endian.
func (s StateID) Compare(other StateID) int { return bytes.Compare(s[:], other[:]) }

// Sequence numbers the intents of an owner. Lineage is drawn at random at each start of the owner's node: numbers that
// a restored database has forgotten are never given again.
type Sequence struct {
	Lineage, Counter uint64
}

// Bytes returns the sequence as one number of 16 bytes, big-endian.
func (s Sequence) Bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], s.Lineage)
	binary.BigEndian.PutUint64(out[8:], s.Counter)
	return out
}

// Intent names an intent on the ledger.
type Intent struct {
	Owner    Account
	Sequence Sequence
}

// Attempt is one way to carry out an intent.
type Attempt struct {
	Intent
	Payload Hash      // of what the user asked for: which intent landed is told by it
	Inputs  []StateID // spent; strictly rising
	Reads   []StateID // must be unspent, and stay so; strictly rising, and none is an input
	Outputs []Hash    // commitments to the states that it creates, in order
	Data    []byte    // the domain's own
}

// WellFormed reports whether inputs and reads are strictly rising, and no read is an input. Else the ledger skips the
// entry as Malformed.
func (a Attempt) WellFormed() bool {
	rising := func(states []StateID) bool {
		for i := 1; i < len(states); i++ {
			if states[i-1].Compare(states[i]) >= 0 {
				return false
			}
		}
		return true
	}
	if !rising(a.Inputs) || !rising(a.Reads) {
		return false
	}
	for _, s := range a.Reads {
		if _, is := slices.BinarySearchFunc(a.Inputs, s, StateID.Compare); is {
			return false
		}
	}
	return true
}

// Endorsement is a member's signature of an assembled hash.
type Endorsement struct {
	Member    int // its place in the contract's list
	Signature []byte
}

// Grant is the owner's word that an attempt may land.
type Grant struct {
	Assembled   Hash
	Coordinator Account // that has to send the entry
	Delegation  Hash    // the delegation for which it was given
	ValidUntil  uint64  // the last block that may have it
	Signature   []byte  // the owner's
}

// Entry is what a coordinator puts before the ledger.
type Entry struct {
	Attempt
	Endorsements []Endorsement // strictly rising members
	Grant        Grant
}

// Sent is a transaction of a block: entries, or the cancellation of an intent.
type Sent struct {
	By      Account // who has sent it
	Entries []Entry
	Cancel  *Cancellation
}

// Cancellation is the owner's word that an intent must not land.
type Cancellation struct {
	Intent
	Signature []byte
}

// Fact is what a block did with an intent.
type Fact struct {
	Intent
	Payload   Hash // zero if it was cancelled
	Assembled Hash // zero if it was cancelled
	Skipped   Reason
}

// Reason says why the ledger did not take an entry.
type Reason uint8

const (
	// Taken: nothing was wrong.
	Taken Reason = iota
	// Malformed: inputs or reads are not strictly rising, or a read is an input.
	Malformed
	// NotMember: the owner is no member of the contract.
	NotMember
	// Repeated: the intent has landed already, or was cancelled.
	Repeated
	// Expired: the block comes after the grant's last one.
	Expired
	// NotGranted: the grant is for another attempt or another sender, or the owner has not signed it.
	NotGranted
	// NotEndorsed: too few members have signed, or not in rising order.
	NotEndorsed
	// Missing: an input or a read is spent, or not there yet.
	Missing
)

var reasons = [...]string{"taken", "malformed", "not a member", "repeated", "expired", "not granted", "not endorsed", "missing"}

func (r Reason) String() string { return reasons[r] }

// Block is the next block of the canonical chain, with what it did with intents of one contract.
type Block struct {
	Number uint64
	Facts  []Fact
}

// Rewind says that the blocks above a number are no longer in the canonical chain.
type Rewind struct{ To uint64 }

// Result is how an intent ended, for its user.
type Result struct {
	Sequence  Sequence
	Confirmed bool   // else reverted
	Assembled Hash   // of the attempt that landed
	Block     uint64 // that has it, or a final block that comes after it; of a reverted one, in which that was read, or 0
	Why       string // it is reverted
}

// View reads the state after one block.
type View interface {
	// Number returns the block's number.
	Number() uint64
	// Landed returns which attempt of an intent was taken. Both hashes are zero if it was cancelled.
	Landed(in Intent) (assembled, payload Hash, is bool)
	// Unspent reports whether a state is there.
	Unspent(s StateID) bool
}
