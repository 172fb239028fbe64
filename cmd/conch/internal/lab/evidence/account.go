package evidence

import (
	"errors"
	"fmt"
	"strings"
)

// Account holds everything known about the transactions of one account: the requests of
// its customers, the transactions in the chain, and the rows of the database. Requests and
// Intents are in any order.
type Account struct {
	Requests []Request
	Mined    []Mined // in chain order
	Count    uint64  // the account's next nonce according to the chain
	Final    uint64  // number of the newest final block
	Intents  []Intent
	Nonces   []uint64 // nonces that the database has assigned
	Hashes   []string // hashes of all signed transactions in the database
	Epochs   []int64  // epochs of the leaderships in which something was signed
	Foreign  []string // hashes of transactions that others are known to have sent from the account
}

// Request is a customer's request for a transaction, made to one or several nodes under one key.
type Request struct {
	Key  string
	Deed string   // unique to this request
	IDs  []string // distinct IDs under which nodes acknowledged it; empty: no node answered
	// Revocable requests may also end cancelled or rejected, if they are not in the chain.
	Revocable bool
}

// Mined is a transaction of the account in the chain.
type Mined struct {
	Hash   string
	Nonce  uint64
	Block  uint64
	Deed   string // [Nothing] for a filler
	Failed bool   // included without effect
}

// Intent is an accepted request as the database has it.
type Intent struct {
	ID, Fate string
	Deed     string
	Nonce    *uint64 // nonce of its slot; nil if it has no slot
}

// Final fates of an intent.
const (
	done      = "done"
	cancelled = "cancelled"
	rejected  = "rejected"
)

// Deed describes what a call does: the receiver ("0x" creates a contract) and the data in
// hexadecimal, the value in decimal.
func Deed(to, value, data string) string {
	return strings.ToLower(to) + " " + value + " " + strings.ToLower(data)
}

// Nothing is the deed of a filler: a transfer of nothing to the sender.
const Nothing = ""

// Chain is the part of a verdict about transactions.
type Chain struct {
	Intents   int      `json:"intents"` // acknowledged
	Done      int      `json:"done"`    // acknowledged, and in a final block with effect
	Missing   int      `json:"missing"`
	Twice     int      `json:"twice"` // took effect more than once
	NonceGaps int      `json:"nonce_gaps"`
	Faults    []string `json:"-"` // all faults in words, the counted ones included
}

// Fault returns an error that says what is wrong, or nil.
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
