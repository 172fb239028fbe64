package chain

import (
	"bytes"
	"math/big"
)

// Call is what a transaction does, whatever its slot and its fee.
type Call struct {
	To    []byte   // the account called; empty creates a contract, or Data says it all
	Value *big.Int // in the chain's smallest unit; nil is 0
	Data  []byte
	Gas   uint64 // the most it may spend; 0 lets the driver estimate
}

// Equal tells whether both do the same; no value is a value of 0.
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

// Draft asks for an attempt.
type Draft struct {
	Account Account
	Index   uint64
	Call    Call
	// Filler replaces the call by the cheapest one that does nothing: it only uses
	// the slot up. What the call may spend is not what the filler may.
	Filler bool
	// Above is the fee of the dearest attempt for the slot so far, sent or not; the
	// new one has to pay enough more to replace it. The zero Fee means none.
	Above Fee
	// Most is the highest fee allowed; the zero Fee means any.
	Most Fee
}

// Fee is what an attempt offers. On EVM Max is the cap on the whole price of a unit
// of gas and Tip the cap on the part for the proposer; elsewhere only Tip counts.
type Fee struct {
	Max *big.Int
	Tip *big.Int
}

// Signed is an attempt as it can be stored and sent any number of times.
type Signed struct {
	Account Account
	Index   uint64
	Hash    Hash
	Bytes   []byte
	Fee     Fee
	// Gas is what the attempt may spend at most. Put it into the call of later attempts
	// for the slot: an estimate is made against the chain as it is then, in which an
	// earlier attempt may have been executed already, so that the call fails.
	Gas uint64
}

// Prepared answers one draft: an attempt, or why there can be none.
type Prepared struct {
	Signed
	// Err wraps one of ErrKey, ErrCall, ErrUnclear, ErrFunds, ErrFee, or is of the endpoint.
	Err error
}

// Verdict is what a node said to an attempt that it was handed.
type Verdict uint8

const (
	// Unknown: no answer, or none that can be understood. The node may have it.
	Unknown Verdict = iota
	// Accepted into the pool, for now.
	Accepted
	// Known: the node had it already.
	Known
	// IndexTooLow: a transaction of this slot is in the chain. Which one is another question.
	IndexTooLow
	// Underpriced: the pool holds another attempt for the slot and this one does not
	// pay enough more. The other may be ours.
	Underpriced
	// FeeTooLow: it pays less than the node asks for at all.
	FeeTooLow
	// NoFunds: the account cannot pay for it now.
	NoFunds
	// Full: the pool has no room, now or for this account.
	Full
	// Invalid: the chain will never take these bytes.
	Invalid
	// Refused by this node for a reason of its own: a rate limit, a fee above what it was
	// told to pass on, a gap that it does not queue, or that the bytes are for another chain,
	// since it is not of the one they were signed for. It is not in its pool; another node
	// may take it.
	Refused
)

var verdicts = [...]string{
	"unknown", "accepted", "known", "index too low", "underpriced", "fee too low", "no funds", "full", "invalid",
	"refused",
}

func (v Verdict) String() string { return verdicts[v] }

// Outcome answers one attempt of a Submit.
type Outcome struct {
	Verdict Verdict
	Text    string // the node's own words, for people
}

// Where is the place in which an attempt was seen.
type Where uint8

const (
	// Nowhere: the node knows nothing of it. Another may.
	Nowhere Where = iota
	// Pooled: it waits in the node's pool.
	Pooled
	// Included: it is in a block of the best chain.
	Included
)

func (w Where) String() string { return [...]string{"nowhere", "pooled", "included"}[w] }

// Sighting answers one hash of a Probe.
type Sighting struct {
	Where Where
	Block Block // Included: in which, without its parent
	// Failed says of an included one what it says of an Inclusion. It goes with Block: in
	// another one the same call may have its effect.
	Failed bool
}

// Inclusion is a transaction of one of our accounts in a block.
type Inclusion struct {
	Account Account
	Index   uint64
	Hash    Hash
	// Failed says that the chain took the transaction, its index and its fee, but that
	// the call had no effect.
	Failed bool
}
