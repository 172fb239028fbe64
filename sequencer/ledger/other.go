package ledger

import "errors"

var (
	// ErrOther is in the error of a contract that is not the declared one. It is about that contract alone, and not about
	// its chain.
	ErrOther = errors.New("the contract on the chain is another one")
	// ErrDeep is in the error of a chain that went back below what was final by what was told, or below the block that was
	// told last before the process began: it has broken the declared depth, and nothing that was final is so; or the
	// endpoint has been left behind on a branch that is no more.
	ErrDeep = errors.New("the chain went back further than any final block")
)
