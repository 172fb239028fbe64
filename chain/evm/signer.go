package evm

import (
	"context"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
)

// Signer signs for one account. It sends nothing. Safe for concurrent use.
type Signer interface {
	Account() chain.Account
	// Sign returns the transaction with a signature of the account; its chain ID is
	// set. An error wraps chain.ErrKey if the account cannot sign, and never names a
	// secret.
	Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error)
}
