package evm

import (
	"context"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
)

// Signer signs for one account and sends nothing. Its methods are safe for concurrent use.
type Signer interface {
	Account() chain.Account
	// Sign returns tx, whose chain ID is set, with a signature of the account. The error wraps
	// chain.ErrKey if the account cannot sign, and never has a secret in it.
	Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error)
}
