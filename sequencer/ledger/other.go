package ledger

import "errors"

// ErrOther is in the error of a contract that is not the declared one. It is about that contract alone, and not about its
// chain.
var ErrOther = errors.New("the contract on the chain is another one")
