package feed

import (
	"context"
	"fmt"
	"sync"

	"github.com/conchhq/conch/chain"
)

const (
	remembered = 4096 // blocks, to bring readers up to date
	mostBehind = 1024 // turns that a reader has not taken
)

// heads is the shared stream of heads, which runs while it has readers.
type heads struct {
	mu      sync.Mutex
	readers map[*reader]bool
	stop    context.CancelFunc // of the stream; nil if none runs
	run     uint64             // the number of the stream
	memory  *chain.Memory
	head    chain.Turn // the last applied block; zero: none yet, or it has been reverted
	final   chain.Turn // the last final block of this stream
}

// reader is one account that follows the heads.
type reader struct {
	at     chain.Block // where it was, until it is placed
	placed bool        // it gets every turn of the stream
	turns  []chain.Turn
	err    error // the end, after the turns
	news   chan struct{}
}

// join adds a reader, which goes on from a block. The first one begins the stream there.
func (f *Feed) join(from chain.Block) *reader {
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &reader{at: from, news: make(chan struct{}, 1)}
	h.readers[r] = true
	switch {
	case h.stop == nil:
		r.placed = true
		h.run++
		h.head, h.final = chain.Turn{}, chain.Turn{}
		ctx, stop := context.WithCancel(f.over)
		h.stop = stop
		run := h.run
		f.work.Go(func() { f.follow(ctx, run, from) })
	case h.head.Block.Hash != "":
		h.place(r)
	}
	return r
}

// leave removes a reader. The stream ends with the last one.
func (f *Feed) leave(r *reader) {
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, r)
	if len(h.readers) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// take returns what a reader has not taken yet.
func (f *Feed) take(r *reader) (turns []chain.Turn, err error) {
	f.heads.mu.Lock()
	defer f.heads.mu.Unlock()
	turns, r.turns = r.turns, nil
	return turns, r.err
}

// follow passes the chain's turns on to the readers.
func (f *Feed) follow(ctx context.Context, run uint64, from chain.Block) {
	for turn, err := range f.chain.Heads(ctx, from) {
		if !f.pass(run, turn, err) {
			return
		}
	}
}

// pass takes a turn or the end of a stream, and reports whether that stream goes on.
func (f *Feed) pass(run uint64, turn chain.Turn, err error) bool {
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run != run || h.stop == nil {
		return false // it has no readers any more
	}
	if err != nil {
		for r := range h.readers {
			h.fail(r, err)
		}
		h.stop()
		h.stop = nil
		return false
	}
	h.note(turn)
	for r := range h.readers {
		switch {
		case r.placed && len(r.turns) < mostBehind:
			h.push(r, turn)
		case r.placed:
			h.fail(r, fmt.Errorf("%w: this process is %d turns behind", chain.ErrUnreachable, mostBehind))
		case turn.Kind == chain.Applied:
			h.place(r)
		}
	}
	return true
}

// note remembers a turn.
func (h *heads) note(turn chain.Turn) {
	switch turn.Kind {
	case chain.Applied:
		h.head = turn
		h.memory.Add(turn.Block)
	case chain.Reverted:
		h.head = chain.Turn{}
		if turn.Block.Number <= h.final.Block.Number {
			h.final = chain.Turn{}
		}
	case chain.Finalized:
		h.final = turn
	}
}

// place brings a reader to the head: from nowhere, or from the block at which it was.
func (h *heads) place(r *reader) {
	r.placed = true
	if r.at.Hash == "" {
		h.push(r, h.head)
		if h.final.Block.Hash != "" {
			h.push(r, h.final)
		}
		return
	}
	trail := chain.NewTrail(remembered, h.memory.Thread(r.at)...)
	turns, err := trail.Head(h.head.Block, func(hash chain.Hash) (chain.Block, error) {
		b, known := h.memory.Get(hash)
		if !known {
			return b, fmt.Errorf("%w: block %v is not remembered", chain.ErrThread, hash)
		}
		return b, nil
	})
	if err != nil {
		h.fail(r, err)
		return
	}
	for _, turn := range turns {
		turn.By = h.head.By
		h.push(r, turn)
	}
}

func (h *heads) push(r *reader, turn chain.Turn) {
	r.turns = append(r.turns, turn)
	h.wake(r)
}

// fail ends a reader after the turns that it has not taken yet.
func (h *heads) fail(r *reader, err error) {
	r.err = err
	delete(h.readers, r)
	h.wake(r)
}

func (h *heads) wake(r *reader) {
	select {
	case r.news <- struct{}{}:
	default:
	}
}
