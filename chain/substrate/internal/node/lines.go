package node

import (
	"context"
	"errors"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

// lines is a line of blocks that was walked. Its links are hashes computed here, so it serves every caller, and no endpoint can make
// it false. Safe for concurrent use.
type lines struct {
	mu     sync.Mutex
	thread ancestry.Thread
}

// Linked is that of chain.Chain.
func (v *View) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	top, err := v.Header(ctx, of.Hash) // of may come without its parent
	if err != nil {
		return nil, err
	}
	lowest := top.Number
	for _, b := range blocks {
		lowest = min(lowest, b.Number)
	}
	thread, err := v.lineTo(ctx, top.Block, lowest)
	if err != nil {
		return nil, err
	}
	linked := make([]bool, len(blocks))
	for i, b := range blocks {
		linked[i] = b.Number <= top.Number && thread.Has(b)
	}
	return linked, nil
}

// LineTo returns the blocks from a height up to a block, oldest first.
func (v *View) LineTo(ctx context.Context, top chain.Block, from, to uint64) (line []chain.Block, err error) {
	thread, err := v.lineTo(ctx, top, from)
	for at := from; err == nil && at <= min(to, top.Number); at++ {
		if b, has := thread.At(at); has {
			line = append(line, b)
		}
	}
	return line, err
}

// lineTo returns the line from a block down to a height.
func (v *View) lineTo(ctx context.Context, top chain.Block, lowest uint64) (ancestry.Thread, error) {
	v.lines.mu.Lock()
	thread := v.lines.thread
	v.lines.mu.Unlock()
	if thread.Newest().Number < lowest {
		thread = ancestry.Thread{} // nothing of it is needed, and the way up from there may be long
	}
	d := descent{at: top.Number, floor: max(lowest, thread.Newest().Number)}
	err := thread.RiseTo(top, func(h chain.Hash) (chain.Block, error) { return v.ancestor(ctx, &d, h) })
	if err == nil {
		d = descent{at: thread.Oldest().Number, floor: lowest}
		err = thread.SinkTo(lowest, func(h chain.Hash) (chain.Block, error) { return v.ancestor(ctx, &d, h) })
	}
	if err != nil {
		return thread, err
	}
	v.lines.mu.Lock()
	v.lines.thread = thread
	v.lines.mu.Unlock()
	return thread, nil
}

// descent is a walk from a block to its ancestors.
type descent struct {
	at, floor uint64 // the height of the last block, and the lowest that is needed
	alone     bool   // each is asked for by its hash: the endpoint did not show many at once
}

// mostAtOnce is how many headers are asked for at once.
const mostAtOnce = 100

// ancestor returns the block below the last one of a descent. It fetches many headers at once by number, which proves nothing, and looks
// by the hash whether the one that is needed is among them.
func (v *View) ancestor(ctx context.Context, d *descent, hash chain.Hash) (chain.Block, error) {
	d.at--
	if h, known := v.states.header(hash); known {
		return h.Block, nil
	}
	if !d.alone && d.at > d.floor {
		v.prefetch(ctx, max(d.floor, d.at-min(d.at, mostAtOnce-1)), d.at)
		if h, known := v.states.header(hash); known {
			return h.Block, nil
		}
		d.alone = true
	}
	return v.Block(ctx, hash)
}

// prefetch asks for the headers from one height to another of what the endpoint calls its best chain, and keeps what it shows.
func (v *View) prefetch(ctx context.Context, from, to uint64) {
	numbers := make([]uint64, 0, to-from+1)
	for at := from; at <= to; at++ {
		numbers = append(numbers, at)
	}
	var hashes []*Bytes
	if v.client.Call(ctx, &hashes, "chain_getBlockHash", numbers) != nil || len(hashes) != len(numbers) {
		return
	}
	wire := make([]*wireHeader, len(hashes))
	calls := make([]rpc.Request, 0, len(hashes))
	for i, h := range hashes {
		if h != nil {
			calls = append(calls, rpc.Request{Method: "chain_getHeader", Args: []any{*h}, Result: &wire[i]})
		}
	}
	if v.client.Calls(ctx, calls) != nil {
		return
	}
	for _, w := range wire {
		if h, err := w.header(); !errors.Is(err, errHeader) {
			v.keep(h)
		}
	}
}
