package substrate

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/metadata"
)

// Receipt implements chain.Chain. What was paid is the price of one unit of gas; logs there are none.
func (c *Chain) Receipt(ctx context.Context, in chain.Inclusion) (chain.Receipt, error) {
	b, err := c.read(ctx, in.Block.Hash)
	if err != nil {
		return chain.Receipt{}, err
	}
	head, _, err := c.view.Tips(ctx)
	if err != nil {
		return chain.Receipt{}, err
	}
	linked, err := c.view.Linked(ctx, head.Block, []chain.Block{b.Block})
	if err != nil {
		return chain.Receipt{}, err
	}
	at, _, has := b.find(in.Account, in.Hash)
	switch {
	case !linked[0]:
		return chain.Receipt{}, fmt.Errorf("%w: block %v has left the chain of %s", chain.ErrNotFound, in.Block.Hash, c.view)
	case !has || b.Number != in.Block.Number:
		return chain.Receipt{}, fmt.Errorf("%w: block %v does not have the transaction %v of %v", chain.ErrNotFound, in.Block.Hash, in.Hash, in.Account)
	case !b.told:
		return chain.Receipt{}, fmt.Errorf("%w: %s no longer has the events of block %v", chain.ErrNotFound, c.view, in.Block.Hash)
	}
	if effect := b.effect(at); effect != in.Effect {
		return chain.Receipt{}, fmt.Errorf("%w: which effect transaction %v had: %s says %v", chain.ErrDisagree, in.Hash, c.view, effect)
	}
	r := chain.Receipt{Inclusion: in, GasUsed: 1, By: [2]string{c.view.String()}}
	for _, e := range b.events {
		if e.Extrinsic != at || e.Pallet != "TransactionPayment" || e.Name != "TransactionFeePaid" {
			continue
		}
		v, err := b.made.EventFields(e)
		fields, is := v.(metadata.Fields)
		if err != nil || !is {
			break
		}
		if r.GasPrice, err = toNumber(fields.Get("actual_fee")); err == nil {
			return r, nil
		}
	}
	return chain.Receipt{}, fmt.Errorf("%w: the events of %v at %s do not say what it has paid", chain.ErrAnswer, in.Hash, c.view)
}
