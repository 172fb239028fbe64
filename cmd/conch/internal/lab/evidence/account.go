package evidence

import (
	"errors"
	"fmt"
	"strings"
)

// Account is what is left of the transactions of one account: what customers asked
// for, what the chain has, and what the database says.
type Account struct {
	Wishes  []Wish   // in any order
	Mined   []Mined  // in the order of the chain
	Count   uint64   // the account's next nonce, as the chain says
	Final   uint64   // the newest block that is final
	Intents []Intent // in any order
	Nonces  []uint64 // that the database has given away
	Hashes  []string // of everything that was ever signed, by the database
	Epochs  []int64  // of its leaderships in which something was signed
	Foreign []string // hashes of what others are known to have sent from it
}

// Wish is what a customer asked for, at one node or at several by one key.
type Wish struct {
	Key  string
	Deed string   // which no other wish has
	IDs  []string // that nodes acknowledged it under, each once; none: it never heard
	// Revocable: it may end cancelled or rejected as well, if it is nowhere in the chain.
	Revocable bool
}

// Mined is one transaction of the account in the chain.
type Mined struct {
	Hash   string
	Nonce  uint64
	Block  uint64
	Deed   string // [Nothing] if it only uses its nonce up
	Failed bool   // it is in the chain and had no effect
}

// Intent is what the database says of something accepted.
type Intent struct {
	ID, Fate string
	Deed     string
	Nonce    *uint64 // of its slot, nil if it has none
}

// The fates after which nothing more happens to an intent.
const (
	done      = "done"
	cancelled = "cancelled"
	rejected  = "rejected"
)

// Deed is what a call does: the receiver ("0x": it makes a contract) and the data in
// hexadecimal digits, the value in decimal ones.
func Deed(to, value, data string) string {
	return strings.ToLower(to) + " " + value + " " + strings.ToLower(data)
}

// Nothing is the deed of a filler: it sends nothing to itself.
const Nothing = ""

// Chain is the part of a verdict that is about transactions.
type Chain struct {
	Intents   int      `json:"intents"` // acknowledged
	Done      int      `json:"done"`    // of these, with effect in a block that is final
	Missing   int      `json:"missing"`
	Twice     int      `json:"twice"` // had their effect once too often, or more
	NonceGaps int      `json:"nonce_gaps"`
	Faults    []string `json:"-"` // these and all others, in words
}

// Fault says what is wrong, nil if nothing is.
func (c Chain) Fault() error {
	switch {
	case len(c.Faults) > 0:
		return fmt.Errorf("of %d transactions: %d missing, %d twice, %d nonce gaps, %d faults in all, the first: %s",
			c.Intents, c.Missing, c.Twice, c.NonceGaps, len(c.Faults), c.Faults[0])
	case c.Intents == 0:
		return errors.New("no transaction was acknowledged, so nothing was shown of any")
	default:
		return nil
	}
}
