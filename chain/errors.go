package chain

import "errors"

var (
	// ErrUnreachable says that the endpoint gave no answer. What was asked may have happened.
	ErrUnreachable = errors.New("the chain's endpoint does not answer")
	// ErrAnswer says that the endpoint answered, with an error that means nothing more.
	ErrAnswer = errors.New("the chain's endpoint answers with an error")
	// ErrForeign says that the endpoint serves another chain than the one configured.
	ErrForeign = errors.New("the endpoint serves another chain")
	// ErrNotFound says that the chain has nothing of the kind.
	ErrNotFound = errors.New("not in the chain")
	// ErrThread says that the blocks between the last turn and the present head are not
	// known: what happened in between has to be asked for. Look up everything that is not
	// final, and follow anew from the present head.
	ErrThread = errors.New("the thread of the chain's blocks is lost")
	// ErrKey says that there is no key to sign for the account.
	ErrKey = errors.New("no key signs for the account")
	// ErrCall says that the chain would not execute the call, now or ever.
	ErrCall = errors.New("the chain does not take the call")
	// ErrUnclear says that the node refuses the call in words that are not understood, and
	// at the same moment says of another what it costs: it may be the call, or the moment.
	// Ask again, a bounded number of times; what is given up then is this call and no other.
	ErrUnclear = errors.New("the chain's node refuses the call, for a reason of its own")
	// ErrFunds says that the account cannot pay for the call.
	ErrFunds = errors.New("the account cannot pay")
	// ErrFee says that what has to be paid is more than is allowed.
	ErrFee = errors.New("the fee is above the highest allowed")
)
