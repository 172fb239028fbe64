package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// promote waits until all executable transactions are in the pool's pending part, so that a block
// has all that was accepted before it. The pool moves them there in the background; if it reads a
// new head meanwhile, it leaves the newest in the queue until the next block.
func (p *producer) promote() error {
	patience := time.NewTimer(200 * time.Millisecond)
	defer patience.Stop()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for p.lagging() {
		select {
		case <-poll.C:
		case <-patience.C:
			_, err := p.refill(func(*types.Transaction) bool { return true })
			return err
		}
	}
	return nil
}

// lagging reports whether a transaction in the queue has no gap before it.
func (p *producer) lagging() bool {
	pool := p.eth.TxPool()
	if _, queued := pool.Stats(); queued == 0 {
		return false
	}
	pending, queue := pool.Content()
	for account, txs := range queue {
		next := pool.Nonce(account)
		if ready := pending[account]; len(ready) > 0 {
			next = ready[len(ready)-1].Nonce() + 1
		}
		if len(txs) > 0 && txs[0].Nonce() == next {
			return true
		}
	}
	return false
}

// refill empties the pool, which cannot drop less, and puts back the transactions to keep.
func (p *producer) refill(keep func(*types.Transaction) bool) (dropped int, err error) {
	pool := p.eth.TxPool()
	pending, queue := pool.Content()
	var kept []*types.Transaction
	for _, of := range []map[common.Address][]*types.Transaction{pending, queue} {
		for _, txs := range of {
			for _, tx := range txs {
				if keep(tx) {
					kept = append(kept, tx)
				} else {
					dropped++
				}
			}
		}
	}
	slices.SortFunc(kept, func(a, b *types.Transaction) int { return a.Time().Compare(b.Time()) })
	pool.Clear()
	for _, err := range pool.Add(kept, true) {
		if err != nil {
			return dropped, fmt.Errorf("put a transaction back into the pool: %w", err)
		}
	}
	return dropped, nil
}
