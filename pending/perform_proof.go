package pending

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

func (l *loop) link(ctx context.Context, a link) (input, error) {
	blocks := make([]chain.Block, len(a.Slots))
	for i, s := range a.Slots {
		blocks[i] = s.Block
	}
	are, err := l.Chain.Linked(ctx, a.Of, blocks)
	return linked{Of: a.Of, Slots: a.Slots, Are: are}, err
}

// confirm asks for second opinions, and proves the transactions of other senders (W2, W3).
func (l *loop) confirm(ctx context.Context, a confirm) (input, error) {
	claims := make([]chain.Claim, len(a.Claims))
	var foreign []uint64
	for i, c := range a.Claims {
		claims[i] = c.Claim
		if claims[i].Account = l.Account; c.Foreign {
			foreign = append(foreign, c.Index)
		}
	}
	opinions, err := l.opinions(ctx, claims)
	if err != nil {
		return nil, err
	}
	var calls map[uint64]chain.Call
	if len(foreign) > 0 {
		if calls, err = l.Store.Calls(ctx, l.Account, foreign); err != nil {
			return nil, err
		}
	}
	out := confirmed{Claims: slices.Clone(a.Claims)}
	for i := range out.Claims {
		one := &out.Claims[i]
		if one.Said = opinions[i]; one.Foreign && one.Said.Stand == chain.Agrees {
			call, err := l.prove(ctx, one.Inclusion)
			switch {
			case errors.Is(err, chain.ErrUnproven):
				one.Unproven = err.Error()
			case err != nil:
				return nil, err
			default:
				own, has := calls[one.Index]
				one.Own = has && sameCall(own, call)
			}
		}
	}
	return out, nil
}

// prove returns the call of a transaction that the account signed for a nonce.
func (l *loop) prove(ctx context.Context, in chain.Inclusion) (chain.Call, error) {
	in.Account, in.Index = l.Account, in.Index-l.first.Load()
	p, err := l.Chain.Prove(ctx, in)
	if err == nil && (p.Account != l.Account || p.Index != in.Index) {
		err = fmt.Errorf("%w: %v has nonce %d of %v, not nonce %d of %v", chain.ErrUnproven, in.Hash, p.Index, p.Account, in.Index, l.Account)
	}
	return p.Call, err
}

// sameCall reports whether two calls do the same, with any limit of gas.
func sameCall(a, b chain.Call) bool {
	a.Gas, b.Gas = 0, 0
	return a.Equal(b)
}

func (l *loop) search(ctx context.Context, a search) (input, error) {
	placed, next, err := l.scan(ctx, a.Of, a.From)
	if err != nil {
		return nil, err
	}
	return found{Recall: a.Recall, Life: a.Life, From: a.From, Index: a.Index, Placed: placed, Next: next}, nil
}

// survey reads transactions of which the store knows nothing. It comes no further than to the first one
// about which there is no second opinion yet.
func (l *loop) survey(ctx context.Context, a survey) (input, error) {
	placed, next, err := l.scan(ctx, a.Of, a.From)
	if err != nil {
		return nil, err
	}
	out := surveyed{Of: a.Of, Next: next}
	var claims []chain.Claim
	for _, one := range placed {
		if one.Index >= a.First && !one.Reaped {
			claims = append(claims, chain.Claim{Inclusion: one, By: a.By, At: a.Of, Still: a.Still})
			if out.First == 0 || one.Block.Number < out.First {
				out.First = one.Block.Number
			}
		}
	}
	if len(claims) == 0 {
		return out, nil
	}
	opinions, err := l.opinions(ctx, slices.Clone(claims))
	if err != nil {
		return nil, err
	}
	var done []chain.Call
	for i, c := range claims {
		if opinions[i].Stand != chain.Agrees {
			out.Next = min(out.Next, c.Block.Number)
			continue
		}
		call, err := l.prove(ctx, c.Inclusion)
		if errors.Is(err, chain.ErrUnproven) {
			l.trouble(err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Proven = append(out.Proven, c.Index)
		if l.Again == nil || !l.Again(call) {
			done = append(done, call)
		}
	}
	if out.Clash, err = l.Store.Alike(ctx, l.Account, done); err != nil {
		return nil, err
	}
	return out, nil
}
