package chaintest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

const (
	remembered = 256
	batch      = 500
	lineName   = "line" // in answers that name an endpoint
)

// Line is a chain.Chain: an endpoint of a node, with faults.
type Line struct {
	node   *Node
	memory *ancestry.Memory

	mu          sync.Mutex
	rand        *rand.Rand
	down        bool
	loseCalls   float64
	loseAnswers float64
	loseNext    string
	delay       time.Duration
	watch       func(string)
	calls       map[string]int
	turned      chan struct{} // closed when the line is cut or mended
}

var _ chain.Chain = (*Line)(nil)

// Describe implements chain.Chain.
func (l *Line) Describe(ctx context.Context) (d chain.Description, err error) {
	err = l.pass(ctx, "Describe", func() {
		cfg := l.node.cfg
		d = chain.Description{
			ID: cfg.ID, MaxBatch: batch, MaxPending: cfg.PerAccount, BlockGas: cfg.BlockGas,
			MinRaise: minRaise, Depth: cfg.Depth, StillAfter: cfg.StillAfter, Era: cfg.Era, NoIndex: cfg.NoIndex, Lives: cfg.Lives, By: lineName,
		}
	})
	return d, err
}

// Next implements chain.Chain.
func (l *Line) Next(ctx context.Context, a chain.Account) (next uint64, err error) {
	err = l.pass(ctx, "Next", func() { next = l.node.head().states[a].next })
	return next, err
}

// Counts implements chain.Chain, by one call for each account.
func (l *Line) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	counts := make([]uint64, len(accounts))
	for i, a := range accounts {
		var err error
		if counts[i], err = l.Next(ctx, a); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Replay implements chain.Chain. A node keeps no states to carry a call out on.
func (l *Line) Replay(context.Context, chain.Account, chain.Call, uint64) (why string, err error) {
	return "", chain.ErrAnswer
}

// Prepare implements chain.Chain.
func (l *Line) Prepare(ctx context.Context, drafts []chain.Draft) (all []chain.Prepared, err error) {
	err = l.pass(ctx, "Prepare", func() {
		spent := map[chain.Account]*big.Int{}
		for _, d := range drafts {
			signed, err := l.node.prepare(d, spent)
			all = append(all, chain.Prepared{Signed: signed, Err: err})
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// prepare signs one draft. spent is what each account may pay for the drafts before it.
func (n *Node) prepare(d chain.Draft, spent map[chain.Account]*big.Int) (chain.Signed, error) {
	if !n.keys[d.Account] {
		return chain.Signed{}, fmt.Errorf("%w %v", chain.ErrKey, d.Account)
	}
	call := d.Call
	if d.Filler {
		call = chain.Call{To: []byte(d.Account)}
	}
	tx := transaction{
		Chain: n.cfg.ID, From: []byte(d.Account), Index: d.Index, To: call.To, Data: call.Data,
		Value: new(big.Int), Gas: call.Gas,
	}
	if call.Value != nil {
		tx.Value.Set(call.Value)
	}
	if err := n.try(&tx); err != nil {
		return chain.Signed{}, err
	}
	if tx.Gas > n.cfg.BlockGas {
		return chain.Signed{}, fmt.Errorf("%w: it has %d gas, a block has %d", chain.ErrCall, tx.Gas, n.cfg.BlockGas)
	}
	least := n.least()
	suggested := d.Offer(n.baseFee, least.Tip, least.Tip)
	if d.Stuck && d.Above.Enough(least.Max, suggested.Tip) {
		return chain.Signed{}, chain.ErrEnough
	}
	fee, err := suggested.Bid(least, d.Above, d.Most, minRaise)
	if err != nil {
		return chain.Signed{}, err
	}
	tx.Max, tx.Tip = fee.Max, fee.Tip
	has, total := n.balance(d.Account, n.head()), tx.cost()
	if total.Cmp(has) > 0 {
		return chain.Signed{}, fmt.Errorf("%w: it may cost %v, the account has %v", chain.ErrFunds, total, has)
	}
	if before := spent[d.Account]; before != nil {
		total.Add(total, before)
	}
	if all := new(big.Int).Set(total); d.Owed != nil && all.Add(all, d.Owed).Cmp(has) > 0 || total.Cmp(has) > 0 {
		return chain.Signed{}, fmt.Errorf("%w: it may cost %v, the account has %v", chain.ErrOwed, tx.cost(), has)
	}
	spent[d.Account] = total
	n.bear(&tx, d.Brief)
	signed := n.sign(tx)
	signed.Filler = d.Filler
	return signed, nil
}

// try gives a transaction the gas that it needs, or returns why it fails.
func (n *Node) try(tx *transaction) error {
	switch {
	case tx.Value.Sign() < 0:
		return fmt.Errorf("%w: its value is below 0", chain.ErrCall)
	case tx.Gas == 0 && fails(tx.Data):
		return fmt.Errorf("%w: reverted", chain.ErrCall)
	case tx.Gas == 0:
		tx.Gas = tx.needs()
	case tx.Gas < tx.needs():
		return fmt.Errorf("%w: it has %d gas and needs %d", chain.ErrCall, tx.Gas, tx.needs())
	}
	if tx.Gas > n.cfg.BlockGas {
		return fmt.Errorf("%w: it has %d gas, a block has %d", chain.ErrCall, tx.Gas, n.cfg.BlockGas)
	}
	return nil
}

// least returns the lowest fee that a block takes now.
func (n *Node) least() chain.Fee {
	tip := big.NewInt(n.cfg.MinTip)
	return chain.Fee{Max: new(big.Int).Add(n.baseFee, tip), Tip: tip}
}

// Quote implements chain.Chain.
func (l *Line) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (q chain.Quote, err error) {
	err = l.pass(ctx, "Quote", func() {
		n := l.node
		head := n.head()
		q = chain.Quote{Block: head.Block, Balance: n.balance(from, head), By: lineName}
		q.Least = n.least()
		q.Suggested = speed.Suggest(n.baseFee, q.Least.Tip, q.Least.Tip)
		tx := transaction{Chain: n.cfg.ID, From: []byte(from), To: call.To, Data: call.Data, Value: new(big.Int), Gas: call.Gas}
		if call.Value != nil {
			tx.Value.Set(call.Value)
		}
		q.Fault = n.try(&tx)
		if q.Fault == nil && fails(tx.Data) {
			q.Fault = fmt.Errorf("%w: reverted", chain.ErrCall)
		}
		if q.Fault == nil && tx.Value.Cmp(q.Balance) > 0 {
			q.Fault = fmt.Errorf("%w: it transfers %v, the account has %v", chain.ErrFunds, tx.Value, q.Balance)
		}
		if q.Fault == nil || call.Gas > 0 {
			q.Gas = tx.Gas
		}
	})
	return q, err
}

// Submit implements chain.Chain.
func (l *Line) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := make([]chain.Outcome, 0, len(attempts))
	for part := range slices.Chunk(attempts, batch) {
		var said []chain.Outcome
		err := l.pass(ctx, "Submit", func() {
			for _, a := range part {
				said = append(said, l.node.pool.add(a.Bytes))
			}
		})
		if err != nil {
			said = make([]chain.Outcome, len(part))
			for i := range said {
				said[i].Text = err.Error()
			}
		}
		outcomes = append(outcomes, said...)
	}
	return outcomes
}

// Probe implements chain.Chain.
func (l *Line) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	seen := make([]chain.Sighting, len(hashes))
	err := l.pass(ctx, "Probe", func() {
		for i, h := range hashes {
			if b := l.node.mined[h]; b != nil {
				seen[i] = chain.Sighting{Block: chain.Block{Number: b.Number, Hash: b.Hash}, Effect: l.node.effectIn(b, h)}
			} else if l.node.pool.has(h) {
				seen[i].Pooled = true
			}
		}
	})
	if err == nil && l.node.cfg.NoIndex {
		err = fmt.Errorf("%w: it has no index of transactions", chain.ErrAnswer)
	}
	if err != nil {
		return nil, err
	}
	return seen, nil
}

// Inclusions implements chain.Chain.
func (l *Line) Inclusions(ctx context.Context, at chain.Block, accounts []chain.Account) (ours []chain.Inclusion, err error) {
	known := false
	err = l.pass(ctx, "Inclusions", func() {
		b := l.node.known[at.Hash]
		if known = b != nil; known {
			ours = l.node.of(b, accounts)
		}
	})
	if err == nil && !known {
		err = fmt.Errorf("%w: block %v", chain.ErrNotFound, at.Hash)
	}
	return ours, err
}

// forgets reports whether the node no longer knows what was done in a block. The lock is held.
func (n *Node) forgets(b *block) bool {
	return b.Number < n.forgot || n.cfg.Keeps > 0 && b.Number+n.cfg.Keeps <= n.head().Number
}

// effectIn returns what a transaction has done in its block, as far as the node still knows. The lock is held.
func (n *Node) effectIn(b *block, h chain.Hash) (e chain.Effect) {
	if n.forgets(b) {
		return e
	}
	for _, tx := range b.txs {
		if tx.signed.Hash == h {
			e = tx.effect
		}
	}
	return e
}

// of returns the transactions of the accounts in a block. The lock is held.
func (n *Node) of(b *block, accounts []chain.Account) (ours []chain.Inclusion) {
	for _, tx := range b.txs {
		if slices.Contains(accounts, tx.account()) {
			ours = append(ours, chain.Inclusion{Account: tx.account(), Index: tx.Index, Hash: tx.signed.Hash, Block: b.Block, Effect: n.effectIn(b, tx.signed.Hash)})
		}
	}
	if b.reaped != "" && slices.Contains(accounts, b.reaped) && !n.forgets(b) {
		ours = append(ours, chain.Inclusion{Account: b.reaped, Block: b.Block, Reaped: true})
	}
	return ours
}
