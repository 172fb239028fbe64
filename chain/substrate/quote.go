package substrate

import (
	"context"

	"github.com/conchhq/conch/chain"
)

// Quote implements chain.Chain. What a call does is not tried out: no function of the runtime that all chains have does that.
func (c *Chain) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (q chain.Quote, err error) {
	m, err := c.market(ctx, []chain.Account{from})
	if err != nil {
		return q, err
	}
	q = chain.Quote{Block: m.head.Block, Balance: m.held[from].free, By: c.view.String()}
	raw, err := m.callBytes(chain.Draft{Account: from, Call: call})
	if err != nil {
		q.Fault = err
		raw = m.filler // so that the price of something is known
	} else {
		q.Gas = 1
	}
	fee, err := c.feeOf(ctx, m, from, raw)
	if err != nil {
		return q, err
	}
	tip := firstTip(speed, fee)
	q.Least = feeWith(fee, noTip)
	q.Suggested = feeWith(fee, tip)
	return q, nil
}
