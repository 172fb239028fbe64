package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// links is a line of blocks that the endpoint linked by their parent hashes. Several goroutines may lengthen it at
// once, each a copy of its own: none waits for another's headers. What one has been shown serves all.
type links struct {
	mu     sync.Mutex
	thread ancestry.Thread
	walks  int              // under way
	memory *ancestry.Memory // what Heads has seen, which does not count for a minute after a denial; nil: never
	// found are blocks that the endpoint showed since the line last grew. Where a backend lacks blocks, a line
	// is found in pieces, by several tries.
	found     map[chain.Hash]chain.Block
	droppedAt time.Time // when all of it was last dropped because it denied a block
	drops     uint64    // how often that was: what was copied before is not kept
	halved    int       // how often fewer headers were asked for at once, since a request was not answered in time
	wanted    uint64    // the lowest height of a walk that was broken off, plus one; 0: none was
}

// denied drops the line, so that it is asked for anew: a parent hash that was wrong once would deny for ever. It
// does so once a minute at most, since there may be many headers, and a dead branch's blocks are denied rightly.
func (l *links) denied() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *links) drop() {
	if l.mayDrop() {
		l.thread, l.found, l.droppedAt = ancestry.Thread{}, nil, time.Now()
		l.drops++
	}
}

func (l *links) mayDrop() bool { return time.Since(l.droppedAt) >= time.Minute }

// find returns a block that the endpoint has shown.
func (l *links) find(h chain.Hash) (b chain.Block, has bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, has = l.found[h]; !has && l.memory != nil && l.mayDrop() {
		b, has = l.memory.Get(h)
	}
	return b, has
}

// Linked implements chain.Chain.
func (c *Chain) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	ctx = budget.Urgently(ctx, budget.Looks)
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	top, err := c.top(ctx, of.Hash) // of may come without its parent
	if err != nil {
		return nil, err
	}
	return c.link(ctx, f, &c.followed, top, blocks)
}

// top returns the block from which a line goes down, as find does.
func (c *Chain) top(ctx context.Context, hash chain.Hash) (chain.Block, error) {
	if b, has := c.followed.find(hash); has {
		return b, nil
	}
	return c.askBlock(ctx, hash)
}

// link reports which of some blocks are the block top or ancestors of it.
func (c *Chain) link(ctx context.Context, f facts, l *links, top chain.Block, blocks []chain.Block) ([]bool, error) {
	to := top.Number
	for _, b := range blocks {
		to = min(to, b.Number)
	}
	thread, err := c.lengthen(ctx, f, l, top, to)
	if err != nil {
		return nil, err
	}
	linked := make([]bool, len(blocks))
	for i, b := range blocks {
		linked[i] = b.Number <= top.Number && thread.Has(b)
	}
	if slices.Contains(linked, false) {
		l.denied()
	}
	return linked, nil
}

// lengthen makes the line reach from a block down to a height, and returns it. It believes of what the endpoint
// shows only what the parent hashes prove.
func (c *Chain) lengthen(ctx context.Context, f facts, l *links, top chain.Block, to uint64) (ancestry.Thread, error) {
	thread, drops := l.begin(to)
	down := descent{at: top.Number, floor: thread.Newest().Number}
	err := thread.RiseTo(top, func(h chain.Hash) (chain.Block, error) { return c.ancestor(ctx, f, l, &down, h) })
	if err == nil {
		down = descent{at: thread.Oldest().Number, floor: to} // the lowest is mostly known
		err = thread.SinkTo(to, func(h chain.Hash) (chain.Block, error) { return c.ancestor(ctx, f, l, &down, h) })
	}
	l.end(thread, drops, to, err, down.child)
	return thread, err
}

// begin returns a copy of the line, to be made to reach down to a height, and how often it was dropped before.
func (l *links) begin(to uint64) (thread ancestry.Thread, drops uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.walks++
	if l.found == nil || len(l.found) > mostFound {
		l.found = map[chain.Hash]chain.Block{}
	}
	if l.thread.Newest().Number < to { // nothing of it is needed, and the way up from there may be long
		l.thread = ancestry.Thread{}
	}
	return l.thread, l.drops
}

// end keeps a line that was lengthened, unless the line was dropped meanwhile or has all of it, or notes why it could
// not be lengthened. What was found for a walk that was broken off is kept for the next one.
func (l *links) end(thread ancestry.Thread, drops, to uint64, err error, child chain.Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.walks--
	deeper := l.thread.Oldest().Number < thread.Oldest().Number && l.thread.Has(thread.Oldest())
	switch {
	case errors.Is(err, chain.ErrThread):
		l.lacks(child)
	case err == nil && drops == l.drops && !deeper:
		l.thread = thread
	}
	if err != nil {
		if l.wanted == 0 || to+1 < l.wanted {
			l.wanted = to + 1
		}
	} else {
		l.halved = max(l.halved-1, 0)
		if to+1 <= l.wanted {
			l.wanted = 0
		}
	}
	if l.walks == 0 && l.wanted == 0 {
		l.found = nil
	}
}

// keep keeps blocks that the endpoint has shown.
func (l *links) keep(blocks ...chain.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil { // dropped meanwhile
		l.found = map[chain.Hash]chain.Block{}
	}
	for _, b := range blocks {
		l.found[b.Hash] = b
	}
}

// lacks handles that no backend has the parent of a block: the endpoint's backends may lack it, or the hash that the
// block names may be wrong. So that block is asked for anew, and all others are kept.
func (l *links) lacks(child chain.Hash) {
	if _, has := l.found[child]; has {
		delete(l.found, child)
		return
	}
	l.drop() // the line itself names it, or what Heads has seen
}

// mostFound bounds links.found: more than a line has are of other branches.
const mostFound = 50_000

// descent is a walk from a block to its ancestors.
type descent struct {
	at    uint64     // the height of the last block
	child chain.Hash // that block, empty for the first one
	floor uint64     // blocks above this height are fetched by number
	vain  int        // fetches in a row that did not bring the next block
}

const (
	mostVain = 3 // after so many blocks are asked for one by one
	askedFor = 3 // times, each block: another backend may answer
)

// ancestor returns the block below the last one of a descent, which has this hash. It fetches the blocks from there
// down by number, many in a request, and by its hash what is still missing.
func (c *Chain) ancestor(ctx context.Context, f facts, l *links, d *descent, h chain.Hash) (chain.Block, error) {
	d.at--
	b, err := c.seek(ctx, f, l, d, h)
	if err == nil && b.Number != d.at {
		err = fmt.Errorf("%w: %s calls block %d, %v, the parent of one at height %d", chain.ErrThread, c.cfg.URL, b.Number, h, d.at+1)
	}
	if err != nil {
		return chain.Block{}, err
	}
	d.child = h
	return b, nil
}

// seek returns a block that is known, or that the endpoint shows.
func (c *Chain) seek(ctx context.Context, f facts, l *links, d *descent, h chain.Hash) (chain.Block, error) {
	if b, has := l.find(h); has {
		return b, nil
	}
	if d.at > d.floor+1 && d.vain < mostVain {
		shown, answered := c.fetch(ctx, f, max(d.floor+1, d.at-min(d.at, l.atOnce()-1)), d.at+1)
		if len(shown) == 0 && ctx.Err() != nil {
			l.hungUp()
		}
		if l.keep(shown...); !answered {
			d.vain = mostVain // what refuses a hundred calls may take one
		}
		if b, has := l.find(h); has {
			d.vain = 0
			return b, nil
		}
		d.vain++
	}
	for try := 1; ; try++ {
		b, err := c.askBlock(ctx, h)
		if err == nil {
			l.keep(b)
		}
		if err == nil || try == askedFor || !errors.Is(err, chain.ErrThread) {
			return b, err
		}
	}
}

// fetchAt is how many headers one request asks for, if the endpoint answers it in time.
const fetchAt = 100

// atOnce returns how many headers the next request asks for.
func (l *links) atOnce() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.atMost()
}

func (l *links) atMost() uint64 { return fetchAt >> l.halved }

// hungUp notes that the caller of a request for headers hung up before anything came. The next walk would ask for the same again, and
// hang up again, for ever: so it asks for fewer. A walk that comes to its end has the next one ask for more.
func (l *links) hungUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.atMost() > 1 {
		l.halved++
	}
}

// fetch reads the blocks from one height up to another, which is left out, and reports whether the endpoint has
// answered. One that is missing is looked up by its hash.
func (c *Chain) fetch(ctx context.Context, f facts, from, to uint64) (shown []chain.Block, answered bool) {
	between := make([]*header, to-from)
	calls := make([]rpc.BatchElem, to-from)
	for i := range between {
		calls[i] = f.blockCall(hexutil.EncodeUint64(to-1-uint64(i)), &between[i]) // the walk goes down, and may be broken off
	}
	err := c.batch(ctx, calls)
	for _, h := range between { // also those of the requests before one that failed
		if h.valid() {
			shown = append(shown, h.block())
		}
	}
	return shown, err == nil
}
