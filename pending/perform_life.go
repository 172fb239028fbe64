package pending

import (
	"context"
	"slices"

	"github.com/conchhq/conch/chain"
)

// The rows of an account are numbered through all of its lives, and the chain counts nonces anew in each. What goes out to the chain, and
// comes in from it, is translated here.

// within returns what a block has of the account, with nonces as the rows of a life have them.
func (t turned) within(of Life) turned {
	if of.First == 0 {
		return t
	}
	t.Count += of.First
	t.Inclusions = inward(t.Inclusions, of.First)
	return t
}

// inward returns transactions with nonces as the rows have them.
func inward(all []chain.Inclusion, first uint64) []chain.Inclusion {
	if first == 0 {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		if !all[i].Reaped {
			all[i].Index += first
		}
	}
	return all
}

// outward returns attempts with nonces as the chain has them.
func (l *loop) outward(attempts []chain.Signed) []chain.Signed {
	first := l.first.Load()
	if first == 0 {
		return attempts
	}
	attempts = slices.Clone(attempts)
	for i := range attempts {
		attempts[i].Index -= first
	}
	return attempts
}

// sign has drafts signed whose nonces are those of the rows.
func (l *loop) sign(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	first := l.first.Load()
	for i := range drafts {
		drafts[i].Index -= first
	}
	prepared, err := l.Chain.Prepare(ctx, drafts)
	for i := range prepared {
		prepared[i].Index += first
	}
	return prepared, err
}

// scan is that of the chain.
func (l *loop) scan(ctx context.Context, of chain.Block, from uint64) ([]chain.Inclusion, uint64, error) {
	placed, next, err := l.Chain.Scan(ctx, of, l.Account, from, searches)
	return inward(placed, l.first.Load()), next, err
}

// opinions are those of the chain.
func (l *loop) opinions(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	for i, first := 0, l.first.Load(); i < len(claims); i++ {
		if claims[i].Index -= min(claims[i].Index, first); claims[i].Reaped {
			claims[i].Index = 0
		}
	}
	return l.Chain.Confirm(ctx, claims)
}
