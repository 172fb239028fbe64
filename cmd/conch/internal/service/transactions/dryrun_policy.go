package transactions

import (
	"context"
	"math/big"
	"time"

	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// try says whether the policy of a token would accept an intent now, and takes nothing: its limits with what is left of them, and the
// answer with which it refuses, nil if it accepts.
func (p *policies) try(ctx context.Context, token string, a Account, kept intake, in pending.Intent) (limits []dryLimit, no, err error) {
	token = storedName(token)
	limits = []dryLimit{}
	_, has := kept.(limiter)
	switch {
	case token == "" || !has && a.Unlimited:
		return limits, nil, nil
	case !has:
		return limits, noPolicy(token, a), nil
	}
	k, err := p.of(ctx, token, a.Chain.ID(), true)
	if err != nil {
		return limits, nil, err
	}
	take, no := k.judge(token, a, in)
	if k.rules == nil {
		return limits, no, nil
	}
	now, err := p.spent(ctx, token, a.Chain.ID())
	if err != nil {
		return limits, no, err
	}
	limits, over := left(now, take.Takes)
	if no == nil && over != nil {
		no = exceeded(token, a, over)
	}
	return limits, no, nil
}

// left says what is left of the limits of a policy, and which one is too small for what an intent takes; of several, the one that holds it
// up longest.
func left(p pgstore.Policy, takes []pgstore.Take) (limits []dryLimit, over *pgstore.LimitError) {
	limits = []dryLimit{}
	for i, l := range p.Limits {
		spent, needs := p.Spent[i].Amount, new(big.Int)
		for _, one := range takes {
			if one.What == l.What {
				needs.Add(needs, one.Amount)
			}
		}
		until := p.At.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		if l.What == pgstore.OfCount {
			until = p.At.UTC().Truncate(time.Minute).Add(time.Minute)
		}
		rest := new(big.Int).Sub(l.Amount, spent)
		if rest.Sign() < 0 {
			rest.SetInt64(0)
		}
		limits = append(limits, dryLimit{limitAnswer{limitName(l.What), l.Amount.String(), spent.String(), rest.String(), &until}, needs.String()})
		if needs.Cmp(rest) <= 0 {
			continue
		}
		e := &pgstore.LimitError{What: l.What, Most: l.Amount, Spent: spent, At: p.At, Again: until}
		if needs.Cmp(l.Amount) > 0 {
			e.Again = time.Time{}
		}
		if over == nil || !over.Again.IsZero() && (e.Again.IsZero() || e.Again.After(over.Again)) {
			over = e
		}
	}
	return limits, over
}

// spentOfPolicy reads what is left of the policy of a token on a chain.
func (reg *accounts) spentOfPolicy(ctx context.Context, token, chain string) (pgstore.Policy, error) {
	db := reg.opened()
	if db == nil {
		return pgstore.Policy{}, pgstore.ErrNoPolicy
	}
	return db.PolicyWithSpent(ctx, token, chain)
}
