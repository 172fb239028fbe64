package substrate

import (
	"context"
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
)

// Submit implements chain.Chain.
func (c *Chain) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := make([]chain.Outcome, 0, len(attempts))
	for part := range slices.Chunk(attempts, maxBatch) {
		raws := make([][]byte, len(part))
		for i, a := range part {
			raws[i] = a.Bytes
		}
		silent := false
		for i, r := range c.view.Submit(ctx, raws) {
			if r.Asks != node.AsksNothing {
				r = c.settle(ctx, r, part[i])
			}
			silent = silent || r.Verdict == chain.Unknown
			outcomes = append(outcomes, chain.Outcome{Verdict: r.Verdict, Text: r.Text, By: c.view.String()})
		}
		if silent {
			break // the rest would meet the same silence, and be sent out of order
		}
	}
	for len(outcomes) < len(attempts) {
		outcomes = append(outcomes, chain.Outcome{Verdict: chain.Refused, Text: "not sent: those before it had no answer", By: c.view.String()})
	}
	return outcomes
}

// settle finds out what a reply asks about the bytes themselves. If that cannot be found out, the reply stays unknown.
func (c *Chain) settle(ctx context.Context, r node.Reply, a chain.Signed) node.Reply {
	head, _, err := c.view.Tips(ctx)
	if err != nil {
		return r
	}
	rt, err := c.runtimeAfter(ctx, head.Hash)
	if err != nil {
		return r
	}
	if r.Asks == node.AsksCount {
		held, err := c.accountsAt(ctx, rt, head.Hash, []chain.Account{a.Account})
		if err != nil {
			return r
		}
		if held[0].nonce > a.Index {
			return r.Settle(node.Used)
		}
		return r.Settle(node.Fits)
	}
	if a.Until != 0 && a.Until <= head.Number || a.Version != "" && a.Version != rt.version.String() {
		return r.Settle(node.Worn)
	}
	x, err := rt.codec.Decode(a.Bytes)
	if err == nil {
		_, err = rt.nameCall(x.Call)
	}
	if err != nil || !x.Signed {
		return r.Settle(node.Nonsense)
	}
	birth := x.Era.Birth(head.Number + 1)
	if birth > head.Number { // this endpoint is behind its birth: nothing speaks against it
		return r.Settle(node.Fits)
	}
	switch err := c.verifyBorn(ctx, rt, x, head.Block, birth); {
	case err == nil:
		return r.Settle(node.Fits)
	case errors.Is(err, chain.ErrUnproven):
		return r.Settle(node.Worn)
	}
	return r
}
