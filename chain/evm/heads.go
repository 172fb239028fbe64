package evm

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// path is the state of one call of Heads.
type path struct {
	trail *chain.Trail
	asked chain.Hash // the head for which the node has returned the block at the depth of finality
}

// Heads implements chain.Chain.
func (c *Chain) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		err := c.follow(ctx, from, func(turn chain.Turn) bool { return yield(turn, nil) })
		if err != nil {
			yield(chain.Turn{}, err)
		}
	}
}

// follow looks at the head until ctx ends, a request fails, or yield returns false.
func (c *Chain) follow(ctx context.Context, from chain.Block, yield func(chain.Turn) bool) error {
	f, err := c.known(ctx)
	if err != nil {
		return err
	}
	p := &path{trail: chain.NewTrail(remembered, c.memory.Thread(from)...)}
	news, stop := c.subscribe(ctx)
	defer stop()
	poll := time.NewTicker(c.cfg.Poll)
	defer poll.Stop()
	for {
		turns, err := c.look(ctx, f, p)
		if err != nil {
			c.forget() // another node may answer next, without some of these methods
			return err
		}
		for _, turn := range turns {
			if turn.Kind != chain.Finalized {
				c.memory.Add(turn.Block)
			}
			if !yield(turn) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		case <-news:
		}
	}
}

// look reads the head and the final block.
func (c *Chain) look(ctx context.Context, f facts, p *path) ([]chain.Turn, error) {
	var head, final *header
	calls := []rpc.BatchElem{f.blockCall("latest", &head)}
	if f.tagged {
		calls = append(calls, f.blockCall("finalized", &final))
	}
	if err := c.batch(ctx, calls); err != nil {
		return nil, err
	}
	if err := calls[0].Error; err != nil {
		return nil, c.endpoint.fail(calls[0].Method, err)
	}
	if err := c.checkBlock("latest", head); err != nil {
		return nil, err
	}
	if _, err := c.checkNumber("head number", head.Number); err != nil {
		return nil, err
	}
	c.quotes.notice(head)
	if last, following := p.trail.Below(0); following && uint64(head.Number) > last.Number+1 {
		c.prefetch(ctx, f, max(last.Number, uint64(head.Number)-min(uint64(head.Number), remembered))+1, uint64(head.Number))
	}
	turns, err := p.trail.Head(head.block(), func(h chain.Hash) (chain.Block, error) { return c.blockByHash(ctx, h) })
	if err != nil {
		return nil, err
	}
	var lastFinal chain.Block
	if final.valid() {
		lastFinal = final.block()
	}
	if !f.tagged {
		if lastFinal, err = c.atDepth(ctx, f, p, head.block()); err != nil {
			return nil, err
		}
	}
	if lastFinal.Hash == "" {
		return turns, nil
	}
	return append(turns, p.trail.Final(lastFinal)...), nil
}

// atDepth returns the block at the depth of finality. The trail reaches that depth only after as
// many blocks, and a connection may break more often. Until then the block is asked for by
// number, once for each head, and again if the node does not return it.
func (c *Chain) atDepth(ctx context.Context, f facts, p *path, head chain.Block) (chain.Block, error) {
	if b, reached := p.trail.Below(f.depth); reached {
		return b, nil
	}
	if head.Number < f.depth || p.asked == head.Hash {
		return chain.Block{}, nil
	}
	var b *header
	calls := []rpc.BatchElem{f.blockCall(hexutil.EncodeUint64(head.Number-f.depth), &b)}
	if err := c.batch(ctx, calls); err != nil {
		return chain.Block{}, err
	}
	if !b.valid() || uint64(b.Number) != head.Number-f.depth {
		return chain.Block{}, nil
	}
	p.asked = head.Hash
	return b.block(), nil
}

// prefetch fetches the blocks from one height up to another, which is left out, in one go. The trail looks up those that are missing one by one.
func (c *Chain) prefetch(ctx context.Context, f facts, from, to uint64) {
	between := make([]*header, to-from)
	calls := make([]rpc.BatchElem, to-from)
	for i := range between {
		calls[i] = f.blockCall(hexutil.EncodeUint64(from+uint64(i)), &between[i])
	}
	if err := c.batch(ctx, calls); err != nil {
		return
	}
	for _, h := range between {
		if h.valid() {
			c.memory.Add(h.block())
		}
	}
}

// blockByHash is the trail's lookup.
func (c *Chain) blockByHash(ctx context.Context, h chain.Hash) (chain.Block, error) {
	if b, known := c.memory.Get(h); known {
		return b, nil
	}
	var found *header
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getBlockByHash", Args: []any{h, false}, Result: &found}}); err != nil {
		return chain.Block{}, err
	}
	if found == nil {
		return chain.Block{}, fmt.Errorf("%w: the node does not know the block", chain.ErrThread)
	}
	return found.block(), nil
}
