package chain

import (
	"errors"
	"fmt"
)

var (
	// ErrUnreachable means that the endpoint gave no answer. The request may have been carried out.
	ErrUnreachable = errors.New("the chain's endpoint does not answer")
	// ErrAnswer means that the endpoint answered with an error that none of the others below fits.
	ErrAnswer = errors.New("the chain's endpoint answers with an error")
	// ErrForeign means that the endpoint serves a chain other than the configured one.
	ErrForeign = errors.New("the endpoint serves another chain")
	// ErrNotFound means that the chain has no such block or transaction.
	ErrNotFound = errors.New("not in the chain")
	// ErrDisagree means that of two answers about what does not change, one is false.
	ErrDisagree = errors.New("the chain's endpoints contradict one another")
	// ErrUnproven means that the endpoint returned a transaction of which the bytes do not prove hash
	// and sender, or that the driver cannot decode. Nothing may be concluded from it.
	ErrUnproven = errors.New("the transaction cannot be proven from its bytes")
	// ErrFinality means that the endpoint's word on final blocks is not usable, and that the
	// configuration does not say how deep a final block is.
	ErrFinality = errors.New("it is not known which blocks are final")
	// ErrUnsupported means that the chain is of a kind for which the driver cannot sign.
	ErrUnsupported = errors.New("the chain is of a kind that is not supported")
	// ErrThread means that the blocks between the last turn and the present head are
	// unknown. Look up everything that is not final, and follow anew from the present head.
	ErrThread = errors.New("the blocks between the last one seen and the head are unknown")
	// ErrKey means that there is no key to sign for the account.
	ErrKey = errors.New("no key signs for the account")
	// ErrCall means that the chain will never execute the call.
	ErrCall = errors.New("the chain does not execute the call")
	// ErrUnclear means that the node refuses this call with an unrecognised error and estimates
	// another one. Ask again a bounded number of times, then give up this call and no other.
	ErrUnclear = errors.New("the node refuses the call with an unrecognised error")
	// ErrFunds means that the account cannot pay for the call.
	ErrFunds = errors.New("the account cannot pay")
	// ErrOwed means that the account could pay for the call, but for what its transactions that are in no block
	// may cost. It wraps ErrFunds.
	ErrOwed = fmt.Errorf("%w before its earlier transactions are in blocks", ErrFunds)
	// ErrEnough means that the attempt before pays what is asked for now, so that a dearer one would change nothing.
	ErrEnough = errors.New("the attempt before pays enough")
	// ErrFee means that the necessary fee is above the maximum that the draft allows.
	ErrFee = errors.New("the fee is above the allowed maximum")
)
