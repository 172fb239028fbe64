package evm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
	"github.com/conchhq/conch/chain/internal/ancestry"
	"github.com/conchhq/conch/internal/pause"
)

// path is the state of one call of Heads.
type path struct {
	trail *ancestry.Trail
	asked chain.Hash // the head for which the node has returned the block at the depth of finality
	doubt ancestry.Doubt
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
	ctx = budget.Urgently(ctx, budget.Heads)
	f, err := c.known(ctx)
	if err != nil {
		return err
	}
	p := &path{trail: ancestry.NewTrail(remembered, c.memory.Thread(from)...)}
	news, stop := c.subscribe(ctx)
	defer stop()
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		wanted, err := c.look(ctx, f, p, yield)
		if err != nil {
			c.forget() // another node may answer next, without some of these methods
			return err
		}
		if !wanted {
			return nil
		}
		poll.Reset(c.lookEvery())
		// News of heads do not make looks more frequent than the endpoint takes them, beside all else.
		if pause.For(ctx, c.rarely()) != nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		case <-news:
		}
	}
}

// look reads the head and the final block, and reports whether yield wants more. The head is told before the final
// block is linked to it, which takes many requests where finality is far behind: a new leader waits for the head.
func (c *Chain) look(ctx context.Context, f facts, p *path, yield func(chain.Turn) bool) (wanted bool, err error) {
	head, final, err := c.tips(ctx, f)
	if err != nil {
		return true, err
	}
	turns, passes, err := c.toHead(ctx, f, p, head)
	if passes || err != nil {
		return true, err
	}
	if !c.report(turns, yield) {
		return false, nil
	}
	finals, err := c.toFinal(ctx, f, p, head, final)
	if err != nil && len(turns) > 0 {
		err = nil // the next look asks again
	}
	return c.report(finals, yield), err
}

// mostBetween is the longest pause between two looks at the head.
const mostBetween = 4 * time.Second

// lookEvery returns the pause between two looks at the head: Poll, or half the time of a block, or that of rarely.
func (c *Chain) lookEvery() time.Duration {
	return max(c.cfg.Poll, min(c.pace.block()/2, mostBetween), c.rarely())
}

// rarely returns the least pause between two looks: they use a quarter of what the endpoint takes at most. A look asks
// for the head and for the final block.
func (c *Chain) rarely() time.Duration {
	return min(c.endpoint.budget.QuarterFor(2*c.endpoint.budget.CostOf("eth_getBlockByNumber")), mostBetween)
}

func (c *Chain) report(turns []chain.Turn, yield func(chain.Turn) bool) (wanted bool) {
	for _, turn := range turns {
		if turn.By = c.cfg.URL; !yield(turn) {
			return false
		}
	}
	return true
}

// toHead returns the turns to a head, or that it is to be passed over.
func (c *Chain) toHead(ctx context.Context, f facts, p *path, head *header) (turns []chain.Turn, passes bool, err error) {
	last, following := p.trail.Below(0)
	if p.doubt.Passes(last, head.block()) {
		return nil, true, nil
	}
	if !following { // nothing links it yet: a false height would be stored as that from which a search begins
		if err := c.askAgain(ctx, head.block()); err != nil {
			return nil, false, err
		}
	}
	c.quotes.notice(head)
	if following && uint64(head.Number) > last.Number+1 && c.near(ctx, last, head.block()) {
		c.prefetch(ctx, f, max(last.Number, uint64(head.Number)-min(uint64(head.Number), remembered))+1, uint64(head.Number))
	}
	turns, err = p.trail.TakeHead(head.block(), func(h chain.Hash) (chain.Block, error) { return c.blockByHash(ctx, h) })
	if errors.Is(err, chain.ErrThread) && following && !p.doubt.Unlinked() {
		return nil, true, nil // another backend may link its head
	}
	if err != nil {
		return nil, false, err
	}
	p.doubt.Linked()
	c.pace.notice(uint64(head.Number))
	for _, turn := range turns {
		c.memory.Add(turn.Block)
	}
	return turns, false, nil
}

// askAgain asks for a block by its hash, and returns an error unless it is the same.
func (c *Chain) askAgain(ctx context.Context, b chain.Block) error {
	for try := 1; ; try++ {
		again, err := c.askBlock(ctx, b.Hash)
		if errors.Is(err, chain.ErrThread) && try < askedFor {
			continue // a backend that is behind
		}
		if err == nil && again != b {
			err = fmt.Errorf("%w: %s calls block %v once number %d and once %d", chain.ErrAnswer, c.cfg.URL, b.Hash, b.Number, again.Number)
		}
		return err
	}
}

// toFinal returns the turn to the last final block.
func (c *Chain) toFinal(ctx context.Context, f facts, p *path, head, final *header) ([]chain.Turn, error) {
	lastFinal, err := c.lastFinal(ctx, f, p, head, final)
	if err != nil || lastFinal.Hash == "" {
		return nil, err
	}
	return p.trail.TakeFinal(lastFinal, func(oldest, b chain.Block) (bool, error) {
		return c.linkFinal(ctx, f, oldest, b)
	})
}

// linkPatience bounds how long one look at the head waits for the final block to be linked. The next look goes on
// where it got: new heads do not wait for fifty thousand headers.
const linkPatience = 2 * time.Second

func (c *Chain) linkFinal(ctx context.Context, f facts, oldest, b chain.Block) (bool, error) {
	brief, cancel := context.WithTimeout(budget.Urgently(ctx, budget.Looks), c.linkPatience)
	defer cancel()
	linked, err := c.link(brief, f, &c.followed, oldest, []chain.Block{b})
	if err != nil && brief.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil && linked[0], err
}

// lastFinal returns the last final block, the zero Block if there is none or it is not known. At a depth
// below the head it is taken from the trail, which reaches that depth only after as many blocks. Until
// then the block is asked for by number, once for each head, and again if the node does not return it.
func (c *Chain) lastFinal(ctx context.Context, f facts, p *path, head, final *header) (chain.Block, error) {
	height, is := c.finalHeight(head, final)
	if !is {
		return chain.Block{}, nil
	}
	if final != nil && uint64(final.Number) == height {
		return final.block(), nil
	}
	if b, reached := p.trail.Below(uint64(head.Number) - height); reached {
		return b, nil
	}
	if p.asked == head.block().Hash {
		return chain.Block{}, nil
	}
	b, err := c.blockAt(ctx, f, height)
	if b != nil {
		p.asked = head.block().Hash
	}
	return b.block(), err
}

// leap is how many blocks a head may be above the last one and be believed.
const leap = 64

// near reports whether a head is a few blocks above the last one, or its parent is there. One backend may name a height that the
// chain does not have, and thousands of calls would ask for the blocks below it.
func (c *Chain) near(ctx context.Context, last, head chain.Block) bool {
	if head.Number <= last.Number+leap {
		return true
	}
	parent, err := c.blockByHash(ctx, head.Parent)
	return err == nil && parent.Number+1 == head.Number
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

// Block implements chain.Chain.
func (c *Chain) Block(ctx context.Context, h chain.Hash) (chain.Block, error) {
	if _, err := c.known(ctx); err != nil {
		return chain.Block{}, err
	}
	b, err := c.blockByHash(budget.Urgently(ctx, budget.Heads), h)
	if errors.Is(err, chain.ErrThread) {
		c.forget() // it may be another chain: it has to prove which one before anything is sent
	}
	return b, err
}

// blockByHash is the trail's lookup. It remembers what the endpoint showed.
func (c *Chain) blockByHash(ctx context.Context, h chain.Hash) (chain.Block, error) {
	if b, known := c.memory.Get(h); known {
		return b, nil
	}
	b, err := c.askBlock(ctx, h)
	if err == nil {
		c.memory.Add(b) // a walk that is broken off goes on from here
	}
	return b, err
}

// askBlock asks the endpoint for a block.
func (c *Chain) askBlock(ctx context.Context, h chain.Hash) (chain.Block, error) {
	var found *header
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getBlockByHash", Args: []any{h, false}, Result: &found}}); err != nil {
		return chain.Block{}, err
	}
	if !found.valid() || found.block().Hash != h {
		return chain.Block{}, fmt.Errorf("%w: %s does not know block %v", chain.ErrThread, c.cfg.URL, h)
	}
	return found.block(), nil
}
