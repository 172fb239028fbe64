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
		return 0, fmt.Errorf("%w: %s says %s %d, which can not be", chain.ErrAnswer, c.cfg.URL, what, uint64(n))
	}
	return uint64(n), nil
}
