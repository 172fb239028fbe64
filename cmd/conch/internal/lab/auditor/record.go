package auditor

import (
	"slices"
	"time"
)

// Record is the evidence that a run left behind. Accounts, states, attempts and payload hashes are hexadecimal digits
// after 0x, in lower case; a sequence is 32 hexadecimal digits.
type Record struct {
	Contract Contract
	Requests []Request
	Told     []Told
	Ledger   Ledger
	Openings []Opening
	// What was done to the nodes.
	Kills, Pauses, Partitions int
	Dispatches                []time.Duration // from a kill of a coordinator to the next dispatch
	Faults                    map[string]int  // whatever else was done, by its name
	Troubles                  []Trouble
	Restores                  []Restore
	Held                      []Held
	Ended                     []Ended
	Stuck                     string  // why the run was ended before its plan was; empty: it was not
	Seed                      *uint64 // of the plan, if there was one
	Attack                    Attack
}

// Trouble is a time in which something was done to nodes, with the second after it: from one block to another, inclusive.
type Trouble struct{ From, To uint64 }

// Restore is a database that was put back. What its node has stored in between is forgotten.
type Restore struct {
	Owner       string    // account of the node's organisation
	Saved, Back time.Time // the node was dead at both
}

// Held is a node whose endpoint of the chain has shown an old head for a while.
type Held struct {
	Owner    string
	From, To uint64 // the old head, and the chain's own when the endpoint was let go
}

// Ended is a certificate that has ended while its node worked, and was renewed more than a minute later.
type Ended struct {
	Node     string
	Standing []string // connections that it has proven, more than a minute after its end
	Refused  bool     // others have said that they refuse it
	Said     bool     // its node has said that it has ended
	Away     int      // ways to and from its node on which there was no connection, long after it was renewed
}

// Attack is what an attacker has sent to the contract.
type Attack struct {
	Accounts map[string]string // the kind of attack that each of its accounts is for
	Sent     map[string]int    // transactions that the chain has accepted, by their kinds
}

// Contract is what the organisations have agreed on.
type Contract struct {
	Members []string // accounts, in the contract's order
	Needed  uint64
	Names   map[string]string // of the members, by their accounts
	Nodes   []string          // names of the nodes whose databases were read
}

// Request is what a customer has asked a node for.
type Request struct {
	Owner   string // account of the node's organisation
	Key     string
	Payload string
	Ends    bool // the customer may have ended it, by a cancellation or a deadline
	Acks    []Ack
	Asked   []Asking
}

// Asking is a time in which a customer has asked for something, again and again.
type Asking struct{ From, To time.Time } // To is zero without an answer

// waits reports whether the customer had no answer at an instant.
func (q Request) waits(at time.Time) bool {
	return slices.ContainsFunc(q.Asked, func(a Asking) bool { return a.From.Before(at) && (a.To.IsZero() || a.To.After(at)) })
}

// Ack is an answer that names a transaction. The same ID is kept once.
type Ack struct {
	ID      string
	At      time.Time
	First   string // the first end that the node told of it; empty: none
	FirstAt time.Time
}

// Told is a transaction as its node lists it.
type Told struct {
	Owner   string
	ID      string // its sequence on the ledger
	Key     string
	Payload string
	Fate    string // open, confirmed or reverted
	Attempt string // that was confirmed
	Block   uint64 // that has the attempt, or a later one that proved it; 0: the node does not say
	First   string // the first end that the node told of; empty: it was not asked before the end
	FirstAt time.Time
}

// The fates of a transaction.
const (
	open      = "open"
	confirmed = "confirmed"
	reverted  = "reverted"
)

// Ledger is what a chain has of a contract.
type Ledger struct {
	Created Created
	Entries []Entry         // in the chain's order
	Unspent map[string]bool // the contract's own word, for each state that an entry names or creates
	Blocks  uint64          // number of the last block that was read
	Gas     uint64          // that its transactions have cost
}

// Created is the transaction that has created the contract.
type Created struct {
	Code    []byte // the first CreationSize bytes of its data
	Members []string
	Needed  uint64
}

// Entry is what the contract was given, and what it said of it.
type Entry struct {
	Event    Event
	Owner    string
	Sequence string
	Payload  string
	Attempt  string // as the contract has named it
	Inputs   []string
	Reads    []string
	Outputs  []Output
	Block    uint64
	Sender   string // account
	Reason   uint64 // by which a skipped entry was refused, in the order of the contract
	Until    uint64 // the last block in which it may land
}

// Output is a state that an entry creates.
type Output struct {
	State      string
	Commitment string
}

// Event is what the contract said of an entry.
type Event string

// The events of the contract.
const (
	Landed    Event = "landed"
	Cancelled Event = "cancelled"
	Skipped   Event = "skipped"
)

// Opening is what a node's database says that a note is.
type Opening struct {
	Node  string
	State string
	Salt  []byte
	Data  []byte
}
