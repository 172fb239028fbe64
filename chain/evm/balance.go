package evm

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// payable returns an error if the account cannot pay so much, or not before its other transactions are in blocks.
func (m *market) payable(d chain.Draft, most *big.Int) error {
	has := m.balances[d.Account]
	if most.Cmp(has) > 0 {
		return fmt.Errorf("%w: it may cost %v wei, and the account has %v", chain.ErrFunds, most, has)
	}
	left := new(big.Int).Set(has)
	for _, owed := range []*big.Int{d.Owed, m.spent[d.Account]} {
		if owed != nil {
			left.Sub(left, owed)
		}
	}
	if most.Cmp(left) > 0 {
		return fmt.Errorf("%w: it may cost %v wei, and of the account's %v they may take all but %v", chain.ErrOwed, most, has, left)
	}
	return nil
}

// spend notes what a draft may cost, for those after it.
func (m *market) spend(a chain.Account, most *big.Int) {
	if m.spent[a] == nil {
		m.spent[a] = new(big.Int)
	}
	m.spent[a].Add(m.spent[a], most)
}

// Balance returns an account's balance at the head, in wei.
func (c *Chain) Balance(ctx context.Context, a chain.Account) (*big.Int, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	var has hexutil.Big
	err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getBalance", Args: []any{a, "latest"}, Result: &has}})
	return has.ToInt(), err
}
