package substrate

import (
	"context"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/internal/rules"
)

// Forge signs a draft without a look at what the account has.
func Forge(ctx context.Context, c *Chain, d chain.Draft) (chain.Signed, error) {
	m, err := c.market(ctx, []chain.Account{d.Account})
	if err != nil {
		return chain.Signed{}, err
	}
	p := plan{fee: noTip, tip: noTip, birth: rules.BirthOf(m.head.Number, m.final.Number, c.period(m.rt, false))}
	if p.call, err = m.callBytes(d); err != nil {
		return chain.Signed{}, err
	}
	return c.sign(ctx, m, d, p)
}

// NameCall names the call of a pallet with these arguments, as of the head.
func NameCall(ctx context.Context, c *Chain, pallet, name string, arguments []byte) (extrinsic.Named, error) {
	head, _, err := c.view.Tips(ctx)
	if err != nil {
		return extrinsic.Named{}, err
	}
	rt, err := c.runtimeAfter(ctx, head.Hash)
	if err != nil {
		return extrinsic.Named{}, err
	}
	return extrinsic.Name(rt.Runtime, pallet, name, arguments)
}

// Encode returns a call's bytes, as of the head.
func Encode(ctx context.Context, c *Chain, n extrinsic.Named) ([]byte, error) {
	m, err := c.market(ctx, nil)
	if err != nil {
		return nil, err
	}
	return n.Call(m.rt.Runtime)
}
