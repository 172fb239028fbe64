package substrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
)

// Confirm implements chain.Chain. One thing is asked for anew: which block is final. Whatever is below that is proven by hashes (Z11),
// but for the effects, which are what this endpoint says (Z10).
func (c *Chain) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	_, final, err := c.view.Tips(ctx)
	if err != nil {
		return nil, err
	}
	opinions := make([]chain.Opinion, len(claims))
	var open []int
	for i, claim := range claims {
		o := &opinions[i]
		o.By = c.view.String()
		own := claim.By == o.By || claim.By == ""
		switch {
		case final.Hash == "", !claim.Counts && final.Number < claim.Block.Number, own && !claim.Passed(final.Number):
			o.Why = fmt.Sprintf("its final block is %d", final.Number)
		case claim.Counts:
			if err := c.judgeCount(ctx, claim, o); err != nil {
				return opinions, err
			}
		default:
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return opinions, nil
	}
	blocks := make([]chain.Block, len(open))
	for n, i := range open {
		blocks[n] = claims[i].Block
	}
	linked, err := c.view.Linked(ctx, final.Block, blocks)
	if errors.Is(err, chain.ErrThread) {
		for _, i := range open {
			opinions[i].Why = err.Error()
		}
		return opinions, nil
	}
	if err != nil {
		return nil, err
	}
	read := map[chain.Hash]*block{}
	for n, i := range open {
		if !linked[n] {
			opinions[i].Stand, opinions[i].Why = chain.Differs, fmt.Sprintf("it has another final block of height %d than %v", claims[i].Block.Number, claims[i].Block.Hash)
			continue
		}
		if err := c.judgeContent(ctx, read, claims[i], &opinions[i]); err != nil {
			return nil, err
		}
	}
	return opinions, nil
}

// judgeCount says whether a nonce counts as used in the state after a block (W14).
func (c *Chain) judgeCount(ctx context.Context, claim chain.Claim, o *chain.Opinion) error {
	rt, err := c.runtimeAfter(ctx, claim.Block.Hash)
	var all []held
	if err == nil {
		all, err = c.accountsAt(ctx, rt, claim.Block.Hash, []chain.Account{claim.Account})
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		o.Why = "it gave no count as of the block's hash: " + err.Error()
	case all[0].nonce > claim.Index:
		o.Stand = chain.Agrees
	default:
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("it counts %d as of block %v", all[0].nonce, claim.Block.Hash)
	}
	return nil
}

// judgeContent compares a claim about a block that is final here with what is in it.
func (c *Chain) judgeContent(ctx context.Context, read map[chain.Hash]*block, claim chain.Claim, o *chain.Opinion) error {
	if claim.Hash == "" && !claim.Reaped {
		o.Stand = chain.Agrees // that the block is final is all that it says
		return nil
	}
	b := read[claim.Block.Hash]
	if b == nil {
		var err error
		if b, err = c.read(ctx, claim.Block.Hash); errors.Is(err, chain.ErrNotFound) || errors.Is(err, node.ErrStateGone) {
			o.Why = err.Error()
			return nil
		} else if err != nil {
			return err
		}
		read[claim.Block.Hash] = b
	}
	if claim.Reaped {
		b.judgeReaped(claim, o)
		return nil
	}
	at, _, has := b.find(claim.Account, claim.Hash)
	if !has {
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("its block %v does not have the transaction", claim.Block.Hash)
		return nil
	}
	effect := b.effect(at)
	switch {
	case effect.Kind == chain.EffectUnknown:
		o.Stand, o.Blind = chain.Agrees, true
	case claim.Effect.Kind == chain.EffectUnknown, effect == claim.Effect:
		o.Stand = chain.Agrees
	default:
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("its events say of the transaction: %v", effect)
	}
	return nil
}

func (b *block) judgeReaped(claim chain.Claim, o *chain.Opinion) {
	switch {
	case !b.told:
		o.Why = fmt.Sprintf("it no longer has the events of block %v", claim.Block.Hash)
	case slices.ContainsFunc(b.of([]chain.Account{claim.Account}), func(in chain.Inclusion) bool { return in.Reaped }):
		o.Stand = chain.Agrees
	default:
		o.Stand, o.Why = chain.Differs, "its events do not say that the account has ceased to exist in that block"
	}
}
