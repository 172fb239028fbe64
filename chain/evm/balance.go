package evm

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Balance returns an account's balance at the head, in wei.
func (c *Chain) Balance(ctx context.Context, a chain.Account) (*big.Int, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	var has hexutil.Big
	err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getBalance", Args: []any{a, "latest"}, Result: &has}})
	return has.ToInt(), err
}
