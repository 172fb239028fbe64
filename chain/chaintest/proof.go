package chaintest

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// Scan implements chain.Chain.
func (l *Line) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) (found []chain.Inclusion, next uint64, err error) {
	fault := l.pass(ctx, "Scan", func() {
		next = max(from, min(from+uint64(most), of.Number+1))
		var thread ancestry.Thread
		top, known := l.node.known[of.Hash]
		if !known {
			err = fmt.Errorf("%w: the node does not know block %v", chain.ErrThread, of.Hash)
			return
		}
		if err = thread.RiseTo(top.Block, l.find); err == nil {
			err = thread.SinkTo(min(from, of.Number), l.find)
		}
		for n := from; n < next && err == nil; n++ {
			b, _ := thread.At(n)
			had, known := l.node.known[b.Hash]
			if !known { // it was lost at a restart
				err = fmt.Errorf("%w: the node does not know block %v", chain.ErrThread, b.Hash)
				return
			}
			found = append(found, l.node.of(had, []chain.Account{a})...)
		}
	})
	if fault != nil {
		err = fault
	}
	return found, next, err
}

// Block implements chain.Chain.
func (l *Line) Block(ctx context.Context, h chain.Hash) (b chain.Block, err error) {
	fault := l.pass(ctx, "Block", func() { b, err = l.find(h) })
	if fault != nil {
		err = fault
	}
	return b, err
}

// Pooled implements chain.Chain.
func (l *Line) Pooled(ctx context.Context, a chain.Account) (next uint64, err error) {
	err = l.pass(ctx, "Pooled", func() {
		next = l.node.head().states[a].next
		for l.node.pool.slots[slot{a, next}] != nil {
			next++
		}
	})
	return next, err
}

// Prove implements chain.Chain.
func (l *Line) Prove(ctx context.Context, in chain.Inclusion) (p chain.Draft, err error) {
	fault := l.pass(ctx, "Prove", func() {
		tx, known := l.node.transaction(in)
		if !known {
			err = fmt.Errorf("%w: transaction %v", chain.ErrNotFound, in.Hash)
			return
		}
		p = chain.Draft{Account: tx.account(), Index: tx.Index, Call: chain.Call{To: tx.To, Value: tx.Value, Data: tx.Data, Gas: tx.Gas}}
	})
	if fault != nil {
		err = fault
	}
	return p, err
}

// transaction finds one in its block, or without one, if the node has an index, in a block of any branch or in the pool.
func (n *Node) transaction(in chain.Inclusion) (transaction, bool) {
	if at, pooled := n.pool.by[in.Hash]; pooled && !n.cfg.NoIndex {
		return n.pool.slots[at].transaction, true
	}
	for _, b := range n.known {
		for _, tx := range b.txs {
			if tx.signed.Hash == in.Hash && (b.Hash == in.Block.Hash || !n.cfg.NoIndex) {
				return tx.transaction, true
			}
		}
	}
	return transaction{}, false
}

// Linked implements chain.Chain.
func (l *Line) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) (linked []bool, err error) {
	fault := l.pass(ctx, "Linked", func() {
		thread, to := ancestry.Thread{}, of.Number
		for _, b := range blocks {
			to = min(to, b.Number)
		}
		from, known := l.node.known[of.Hash]
		if !known {
			err = fmt.Errorf("%w: the node does not know block %v", chain.ErrThread, of.Hash)
			return
		}
		if err = thread.RiseTo(from.Block, l.find); err == nil {
			err = thread.SinkTo(to, l.find)
		}
		for _, b := range blocks {
			linked = append(linked, thread.Has(b))
		}
	})
	if fault != nil {
		err = fault
	}
	return linked, err
}

// Confirm implements chain.Chain.
func (l *Line) Confirm(ctx context.Context, claims []chain.Claim) (opinions []chain.Opinion, err error) {
	err = l.pass(ctx, "Confirm", func() {
		for _, c := range claims {
			opinions = append(opinions, l.node.opinion(c))
		}
	})
	return opinions, err
}

// opinion is that of a line.
func (n *Node) opinion(c chain.Claim) chain.Opinion {
	o := chain.Opinion{By: lineName}
	switch final := uint64(n.final); {
	case (c.By == lineName || c.By == "") && !c.Passed(final), !c.Counts && final < c.Block.Number:
		o.Why = fmt.Sprintf("its final block is still %d", final)
		return o
	case c.Counts:
		return n.countOpinion(c, o)
	case n.best[c.Block.Number].Hash != c.Block.Hash:
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("its block %d is %v", c.Block.Number, n.best[c.Block.Number].Hash)
		return o
	case c.Reaped && n.best[c.Block.Number].reaped != c.Account:
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("the account has not ceased to exist in its block %d", c.Block.Number)
		return o
	case c.Hash == "":
		o.Stand = chain.Agrees
		return o
	}
	for _, tx := range n.best[c.Block.Number].txs {
		if tx.signed.Hash != c.Hash {
			continue
		}
		seen := n.effectIn(n.best[c.Block.Number], c.Hash)
		if o.Blind = seen.Kind == chain.EffectUnknown; o.Blind || c.Effect.Kind == chain.EffectUnknown || seen == c.Effect {
			o.Stand = chain.Agrees
			return o
		}
	}
	o.Stand, o.Why = chain.Differs, fmt.Sprintf("its block %d does not have %v with that effect", c.Block.Number, c.Hash)
	return o
}

// countOpinion is the opinion about a nonce that counts as used.
func (n *Node) countOpinion(c chain.Claim, o chain.Opinion) chain.Opinion {
	b, known := n.known[c.Block.Hash]
	switch {
	case !known:
		o.Why = "it does not know the block"
	case b.states[c.Account].next > c.Index:
		o.Stand = chain.Agrees
	default:
		o.Stand, o.Why = chain.Differs, fmt.Sprintf("it counts %d", b.states[c.Account].next)
	}
	return o
}

// Tip returns the head.
func (l *Line) Tip(ctx context.Context) (tip chain.Block, err error) {
	err = l.pass(ctx, "Tip", func() { tip = l.node.head().Block })
	return tip, err
}
