package evm

import (
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
)

// count takes a number of transactions or blocks, unless it is one that no chain has:
// those who keep it have room for half as many, and the highest index is believed for good.
func (c *Chain) count(what string, n hexutil.Uint64) (uint64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("%w: %s says %s %d, which cannot be", chain.ErrAnswer, c.cfg.URL, what, uint64(n))
	}
	return uint64(n), nil
}

// index is that of a transaction. One without would be taken for the account's first.
func (c *Chain) index(tx *transaction) (uint64, error) {
	if tx.Nonce == nil {
		return 0, fmt.Errorf("%w: %s has transaction %v without a nonce", chain.ErrAnswer, c.cfg.URL, tx.Hash)
	}
	return c.count("index", *tx.Nonce)
}
