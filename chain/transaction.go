package chain

import (
	"bytes"
	"math/big"
	"strings"
)

// Call is what a transaction does. It does not depend on the slot or the fee.
type Call struct {
	To    []byte   // account called; empty creates a contract, or Data alone is the call
	Value *big.Int // in the chain's smallest unit; nil is 0
	Data  []byte
	Gas   uint64 // the most it may spend; 0 lets the driver estimate
}

// Equal reports whether both calls are the same. A nil value equals 0.
func (c Call) Equal(other Call) bool {
	value, others := c.Value, other.Value
	if value == nil {
		value = new(big.Int)
	}
	if others == nil {
		others = new(big.Int)
	}
	return bytes.Equal(c.To, other.To) && value.Cmp(others) == 0 && bytes.Equal(c.Data, other.Data) && c.Gas == other.Gas
}

// Draft asks for an attempt. One that [Chain.Prove] returns is what was signed: Account, Index and Call.
type Draft struct {
	Account Account
	Index   uint64
	Call    Call
	// Filler replaces the call, with its Gas, by the cheapest one that uses the slot.
	Filler bool
	// Above is the fee of the dearest attempt for the slot so far, sent or not. The new attempt outbids it, by MinRaise
	// percent or in the chain's own measure. The zero Fee means no earlier attempt.
	Above Fee
	// Most is the highest fee allowed; the zero Fee allows any.
	Most  Fee
	Speed Speed
	// Owed is the most that the account's transactions that are in no block may cost: it is not for this one. If the
	// account could pay otherwise, the error is ErrOwed. Nil is 0.
	Owed *big.Int
	// Stuck says that the attempt before, with the fee Above, is in a pool and in no block for a while. If it pays what
	// is asked for now, the error is ErrEnough.
	Stuck bool
	// Same is the fee of the attempt before, which is [Outworn]: there is nothing to outbid, so the new one offers the same, or
	// what the chain takes at least. The zero Fee: it offers what its speed suggests.
	Same Fee
	// Brief asks for an attempt with the shortest Until that the chain allows, if its attempts wear out: see Description.Lives.
	Brief bool
}

// Offer returns what the draft's attempt offers at first; see [Speed.Suggest].
func (d Draft) Offer(price, tip, least *big.Int) Fee {
	if !d.Same.None() {
		return d.Same
	}
	return d.Speed.Suggest(price, tip, least)
}

// Fee is what an attempt offers for a unit of gas, in the chain's smallest unit. On EVM
// Max caps the whole price and Tip the proposer's part of it; elsewhere only Tip counts.
type Fee struct {
	Max *big.Int
	Tip *big.Int
}

// Signed is a signed attempt. It can be stored, and sent any number of times.
type Signed struct {
	Account Account
	Index   uint64
	Hash    Hash
	Bytes   []byte
	Fee     Fee
	// Gas is the most the attempt may spend. Put it into the call of later attempts for the
	// slot: once this attempt has been executed, an estimate of the same call may fail.
	Gas    uint64
	Filler bool // as in its Draft: it does nothing but use up its nonce
	// Until is the height of the last block that may include the attempt; 0: any may. It is counted from a block by which the
	// attempt was signed: on a branch without that block no height takes it. A height alone proves nothing.
	Until uint64
	// Version is that of the chain's runtime for which the attempt was signed, in the driver's own words; empty if the chain
	// has none. No block that is made by another one includes it.
	Version string
}

// Prepared is the answer to one draft: an attempt, or an error.
type Prepared struct {
	Signed
	// Err wraps ErrKey, ErrCall, ErrUnclear, ErrFunds or ErrFee, or comes from the endpoint.
	Err error
}

// Verdict is a node's answer to one attempt that was sent to it.
type Verdict uint8

const (
	// Unknown means no answer, or one that is not understood. The node may have the attempt.
	Unknown Verdict = iota
	// Accepted means that the attempt is in the pool, which may still drop it.
	Accepted
	// Known means that the node already had the attempt.
	Known
	// IndexTooLow means that a transaction of this slot is in the chain, but not which one.
	IndexTooLow
	// Underpriced means that the attempt does not pay enough to replace one in the pool, maybe ours.
	Underpriced
	// FeeTooLow means that the attempt pays less than the node accepts from anyone.
	FeeTooLow
	// NoFunds means that the account cannot pay for the attempt now.
	NoFunds
	// Full means that the pool has no room, at all, for this account, or above a gap in the nonces. One with a
	// lower nonce may be taken.
	Full
	// Invalid means that the chain will never take these bytes.
	Invalid
	// Refused means that the attempt is not in this node's pool and another node may take it:
	// a rate limit, a fee above the node's cap, a node of another chain.
	Refused
	// Unfit means that the node refuses the attempt's gas, size or type now. Another node, or this
	// one later, may take it: the answer depends on prices, on forks, on the node's limits.
	Unfit
	// Outworn means that these bytes are worthless here now: their time is over, they were signed for another version of the
	// chain's runtime or on another branch, or the node has banned them. It says nothing of the call, and nothing of the
	// slot: on another branch, or at a node that is behind, the same bytes may still get into a block.
	Outworn
)

var verdicts = [...]string{
	"unknown", "accepted", "known", "index too low", "underpriced", "fee too low", "no funds", "full", "invalid",
	"refused", "unfit", "outworn",
}

func (v Verdict) String() string { return verdicts[v] }

// Outcome answers one attempt of a Submit.
type Outcome struct {
	Verdict Verdict
	Text    string // the node's own message, for people
	By      string // the endpoint that gave the verdict, if the driver has a name for it
}

// Said returns the node's message with the name of the endpoint.
func (o Outcome) Said() string {
	if o.By == "" || strings.Contains(o.Text, o.By) {
		return o.Text
	}
	return o.By + ": " + o.Text
}

// Sighting is the answer to one hash of a Probe. The zero Sighting says that this node does not know the attempt. Another
// node may.
type Sighting struct {
	Pooled bool  // it is in the node's pool
	Block  Block // of the best chain, without Parent: it is in this block; zero if it is in none
	// Effect is as in Inclusion, for this Block alone: in another it may be another one.
	Effect Effect
}

// Included reports whether the attempt is in a block.
func (s Sighting) Included() bool { return s.Block.Hash != "" }

// String returns nowhere, pooled or included.
func (s Sighting) String() string {
	switch {
	case s.Included():
		return "included"
	case s.Pooled:
		return "pooled"
	}
	return "nowhere"
}

// Inclusion is a transaction in a block, sent by one of the accounts asked about, or the end of such an account.
type Inclusion struct {
	Account Account
	Index   uint64
	Hash    Hash
	Block   Block
	Effect  Effect // what it has done there
	// Reaped says that nothing was sent: at this place in the block the account has ceased to exist, and its nonces begin anew
	// with what follows. Index, Hash and Effect are zero. It occurs only where the Description says Lives.
	Reaped bool
}
