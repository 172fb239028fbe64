package evm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// links is a line of blocks that the endpoint linked by their parent hashes.
type links struct {
	mu     sync.Mutex
	thread chain.Thread
	anew   time.Time // when the thread was last dropped because it denied a block
}

// denied drops the line, so that it is asked for anew: a parent hash that was wrong once would deny for ever. It
// does so once a minute at most, since there may be many headers, and a dead branch's blocks are denied rightly.
func (l *links) denied() {
	if time.Since(l.anew) >= time.Minute {
		l.thread, l.anew = chain.Thread{}, time.Now()
	}
}

// lookup reads a block by its hash.
type lookup func(ctx context.Context, hash chain.Hash) (chain.Block, error)

// Linked implements chain.Chain.
func (c *Chain) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	top, err := c.blockByHash(ctx, of.Hash) // of may come without its parent
	if err != nil {
		return nil, err
	}
	return c.link(ctx, f, &c.followed, c.blockByHash, top, blocks)
}

// link reports which of some blocks are the block top or ancestors of it.
func (c *Chain) link(ctx context.Context, f facts, l *links, look lookup, top chain.Block, blocks []chain.Block) ([]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to := top.Number
	for _, b := range blocks {
		to = min(to, b.Number)
	}
	if err := c.lengthen(ctx, f, l, look, top, to); err != nil {
		return nil, err
	}
	linked := make([]bool, len(blocks))
	for i, b := range blocks {
		linked[i] = b.Number <= top.Number && l.thread.Has(b)
	}
	if slices.Contains(linked, false) {
		l.denied()
	}
	return linked, nil
}

// lengthen makes the line reach from a block down to a height. It fetches what is missing by number,
// many in a request, and believes of it only what the parent hashes prove.
func (c *Chain) lengthen(ctx context.Context, f facts, l *links, look lookup, top chain.Block, to uint64) error {
	fetched := map[chain.Hash]chain.Block{}
	one := func(h chain.Hash) (chain.Block, error) {
		if b, has := fetched[h]; has {
			return b, nil
		}
		return look(ctx, h)
	}
	newest := l.thread.Newest()
	if newest.Number < to { // nothing of it is needed, and the way up from there may be long
		l.thread, newest = chain.Thread{}, chain.Block{}
	}
	if newest.Hash != "" && newest.Number < top.Number {
		c.fetch(ctx, f, newest.Number+1, top.Number, fetched)
	}
	if err := l.thread.Rise(top, one); err != nil {
		return err
	}
	if oldest := l.thread.Oldest(); to < oldest.Number {
		c.fetch(ctx, f, to+1, oldest.Number, fetched) // the lowest is mostly known to the caller
	}
	err := l.thread.Sink(to, one)
	if errors.Is(err, chain.ErrThread) {
		l.denied() // nobody knows the parent that a wrong hash names
	}
	return err
}

// fetchAt is how many headers one request asks for.
const fetchAt = 100

// fetch reads the blocks from one height up to another, which is left out. One that is missing is looked up
// by its hash, so an error is no failure.
func (c *Chain) fetch(ctx context.Context, f facts, from, to uint64, into map[chain.Hash]chain.Block) {
	if to <= from+1 {
		return
	}
	for ; from < to; from += fetchAt {
		between := make([]*header, min(to-from, fetchAt))
		calls := make([]rpc.BatchElem, len(between))
		for i := range between {
			calls[i] = f.blockCall(hexutil.EncodeUint64(from+uint64(i)), &between[i])
		}
		if err := c.batch(ctx, calls); err != nil {
			return
		}
		for _, h := range between {
			if h.valid() {
				into[h.block().Hash] = h.block()
			}
		}
	}
}
