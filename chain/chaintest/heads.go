package chaintest

import (
	"context"
	"fmt"
	"iter"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// Heads implements chain.Chain.
func (l *Line) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		trail := ancestry.NewTrail(remembered, l.memory.Thread(from)...)
		for {
			turns, wake, err := l.look(ctx, trail)
			if err != nil {
				yield(chain.Turn{}, err)
				return
			}
			for _, turn := range turns {
				if !yield(turn, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				yield(chain.Turn{}, ctx.Err())
				return
			case <-wake.node:
			case <-wake.line:
			}
		}
	}
}

type wake struct{ node, line <-chan struct{} }

// look reads the head and the final block, and returns what to wait for before the next look.
func (l *Line) look(ctx context.Context, trail *ancestry.Trail) (turns []chain.Turn, next wake, err error) {
	l.mu.Lock()
	next.line = l.turned
	l.mu.Unlock()
	lost := l.pass(ctx, "Heads", func() {
		next.node = l.node.changed
		if turns, err = trail.TakeHead(l.node.head().Block, l.find); err == nil {
			var final []chain.Turn
			final, err = trail.TakeFinal(l.node.best[l.node.final].Block, l.linked)
			turns = append(turns, final...)
		}
	})
	if lost != nil {
		return nil, next, lost
	}
	for i := range turns {
		turns[i].By = lineName
		l.memory.Add(turns[i].Block)
	}
	return turns, next, err
}

// linked reports whether b is an ancestor of oldest. The caller holds the node's lock.
func (l *Line) linked(oldest, b chain.Block) (bool, error) {
	var thread ancestry.Thread
	if err := thread.RiseTo(oldest, l.find); err != nil {
		return false, err
	}
	err := thread.SinkTo(b.Number, l.find)
	return thread.Has(b), err
}

// find is the trail's lookup. The caller holds the node's lock.
func (l *Line) find(h chain.Hash) (chain.Block, error) {
	if b, known := l.memory.Get(h); known {
		return b, nil
	}
	if b, known := l.node.known[h]; known {
		return b.Block, nil
	}
	return chain.Block{}, fmt.Errorf("%w: the node does not know block %v", chain.ErrThread, h)
}
