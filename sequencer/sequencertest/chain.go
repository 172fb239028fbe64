package sequencertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Chain is a base ledger in memory, for tests and examples: the model of the contract, and blocks of what was submitted.
// It makes a block only of something, as some chains do.
type Chain struct {
	mu     sync.Mutex
	set    ledger.Contract
	head   *model.Model
	last   *model.Model // of the last final block
	blocks []made       // block n is at n-1
	pool   []ledger.Sent
	taken  map[string]bool
	moved  chan struct{} // closed and replaced at each block
}

type made struct {
	sent  []ledger.Sent
	facts []ledger.Fact
}

// NewChain returns a ledger without blocks.
func NewChain(c ledger.Contract, s ledger.Scheme) *Chain {
	return &Chain{set: c, head: model.New(c, s), last: model.New(c, s), taken: map[string]bool{}, moved: make(chan struct{})}
}

// Run makes a block of what waits, every so often, until the context ends.
func (c *Chain) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.mine()
		}
	}
}

func (c *Chain) mine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pool) == 0 {
		return
	}
	c.blocks = append(c.blocks, made{c.pool, c.head.Block(c.pool...)})
	c.pool = nil
	for c.last.Number()+c.set.Depth < c.head.Number() {
		c.last.Block(c.blocks[c.last.Number()].sent...)
	}
	close(c.moved)
	c.moved = make(chan struct{})
}

// Follow implements sequencer.Ledger.
func (c *Chain) Follow(ctx context.Context, after uint64, step func(any)) error {
	for {
		c.mu.Lock()
		moved := c.moved
		var next []ledger.Block
		for n := after; n < uint64(len(c.blocks)); n++ {
			next = append(next, ledger.Block{Number: n + 1, Facts: c.blocks[n].facts})
		}
		c.mu.Unlock()
		for _, b := range next {
			step(b)
			after = b.Number
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

// Head implements sequencer.Ledger.
func (c *Chain) Head(context.Context) (head, final uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head.Number(), c.last.Number(), nil
}

// Final implements sequencer.Ledger.
func (c *Chain) Final(_ context.Context, intents []ledger.Intent, states []ledger.StateID) (ledger.View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Read(intents, states), nil
}

// Submit implements sequencer.Ledger.
func (c *Chain) Submit(_ context.Context, tx ledger.Sent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var name strings.Builder
	if tx.Cancel != nil {
		_, _ = fmt.Fprint(&name, "cancel ", tx.Cancel.Intent)
	}
	for _, e := range tx.Entries {
		_, _ = fmt.Fprint(&name, e.Intent, e.Grant.Assembled, e.Grant.Delegation)
	}
	if !c.taken[name.String()] {
		c.taken[name.String()] = true
		c.pool = append(c.pool, tx)
	}
	return nil
}

// Nudge implements sequencer.Ledger.
func (c *Chain) Nudge(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool = append(c.pool, ledger.Sent{})
	return nil
}

// Skipped returns how many entries were not taken.
func (c *Chain) Skipped() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.blocks {
		for _, f := range b.facts {
			if f.Skipped != ledger.Taken {
				n++
			}
		}
	}
	return n
}

// Landed returns what was taken of an intent in the last block.
func (c *Chain) Landed(in ledger.Intent) (assembled, payload ledger.Hash, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head.Landed(in)
}
