package evm

import (
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
)

// checkNumber refuses a nonce or block number above 2^63 - 1. Such a number would be negative where
// it is stored, and callers believe the highest nonce they ever saw.
func (c *Chain) checkNumber(what string, n hexutil.Uint64) (uint64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("%w: %s gives %s %d, which is impossible", chain.ErrAnswer, c.cfg.URL, what, uint64(n))
	}
	return uint64(n), nil
}

// index returns a transaction's nonce. A missing nonce must not be taken for 0.
func (c *Chain) index(tx *transaction) (uint64, error) {
	if tx.Nonce == nil {
		return 0, fmt.Errorf("%w: %s has transaction %v without a nonce", chain.ErrAnswer, c.cfg.URL, tx.Hash)
	}
	return c.checkNumber("nonce", *tx.Nonce)
}
