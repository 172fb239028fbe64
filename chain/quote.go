package chain

import "math/big"

// Quote is what a call would do and cost if it were carried out on the head, as the endpoint By says. Nothing was signed or sent.
type Quote struct {
	Block   Block    // the head
	Balance *big.Int // of the account, in the chain's smallest unit
	Gas     uint64   // the limit that a first attempt would have; 0 if Fault says why that is not known
	// Suggested is the fee that a first attempt of the speed would offer, and Least the lowest that the chain takes now.
	Suggested, Least Fee
	// Fault is why Prepare would sign no attempt, or that a call with its own gas would have no effect: it wraps [ErrCall] if the call fails,
	// [ErrFunds] if the account does not have its value. With another error it is not known whether the call fails. Nil: it does not.
	Fault  error
	Reason string // the contract's own words for that, if it has any
	By     string
}
