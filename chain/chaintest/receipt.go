package chaintest

import (
	"context"
	"fmt"
	"math/big"

	"github.com/conchhq/conch/chain"
)

// Receipt implements chain.Chain. No transaction makes a contract or has logs.
func (l *Line) Receipt(ctx context.Context, in chain.Inclusion) (r chain.Receipt, err error) {
	fault := l.pass(ctx, "Receipt", func() {
		b := l.node.mined[in.Hash]
		if b == nil || b.Hash != in.Block.Hash {
			err = fmt.Errorf("%w: transaction %v in block %v", chain.ErrNotFound, in.Hash, in.Block.Hash)
			return
		}
		for _, tx := range b.txs {
			if tx.signed.Hash == in.Hash {
				r = chain.Receipt{Inclusion: in, GasUsed: tx.needs(), GasPrice: new(big.Int).Set(tx.price), By: [2]string{lineName}}
				r.Account, r.Effect = tx.account(), l.node.effectIn(b, in.Hash)
			}
		}
		if r.Effect != in.Effect {
			err = fmt.Errorf("%w: which effect transaction %v had", chain.ErrDisagree, in.Hash)
		}
	})
	if fault != nil {
		err = fault
	}
	return r, err
}

// AccountStates implements chain.Chain.
func (l *Line) AccountStates(ctx context.Context, accounts []chain.Account) (all []chain.AccountState, err error) {
	err = l.pass(ctx, "AccountStates", func() {
		head := l.node.head()
		for _, a := range accounts {
			all = append(all, chain.AccountState{Account: a, Block: head.Block, Balance: l.node.balance(a, head), Next: head.states[a].next, By: lineName})
		}
	})
	return all, err
}
