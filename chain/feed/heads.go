package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

const (
	remembered = 4096 // blocks of all readers together
	followed   = 256  // blocks of one reader: what has changed further back is ErrThread to it
)

// heads is what the shared stream has shown last. It runs while it has readers. Each reader works out its own turns
// from where it was.
type heads struct {
	mu     sync.Mutex
	stream *stream          // nil if none runs
	memory *ancestry.Memory // blocks that were shown
	head   chain.Block      // zero: not known
	final  chain.Block      // an ancestor of head; zero: not known
	by     string           // the endpoint that showed them
	asked  map[chain.Hash]*question[chain.Block]
}

// stream is one following of the chain.
type stream struct {
	readers int
	stop    context.CancelFunc
	news    chan struct{} // closed, and replaced, with each turn
	over    chan struct{} // closed at its end
	err     error         // why it ended
}

// join adds a reader to the stream, and begins one if there is none.
func (f *Feed) join() *stream {
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stream == nil {
		ctx, stop := context.WithCancel(f.over)
		s := &stream{stop: stop, news: make(chan struct{}), over: make(chan struct{})}
		h.stream = s
		from := h.head
		f.work.Go(func() { f.follow(ctx, s, from) })
	}
	h.stream.readers++
	return h.stream
}

// leave removes a reader. The stream ends with the last one, and the next one begins at the head of then.
func (f *Feed) leave(s *stream) {
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.readers--; s.readers == 0 && h.stream == s {
		s.stop()
		h.stream, h.head, h.final = nil, chain.Block{}, chain.Block{}
	}
}

// follow notes the chain's turns. If the driver does not know the way from where it was, it begins at the head: each
// reader may still know its own.
func (f *Feed) follow(ctx context.Context, s *stream, from chain.Block) {
	err := f.read(ctx, s, from)
	if from.Hash != "" && errors.Is(err, chain.ErrThread) {
		err = f.read(ctx, s, chain.Block{})
	}
	h := &f.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.err = err; h.stream == s {
		h.stream = nil
	}
	s.stop()
	close(s.over)
}

func (f *Feed) read(ctx context.Context, s *stream, from chain.Block) error {
	for turn, err := range f.chain.Heads(ctx, from) {
		if err != nil {
			return err
		}
		f.heads.note(s, turn)
	}
	return fmt.Errorf("%w: the stream of heads has ended", chain.ErrUnreachable)
}

// note remembers a turn, and wakes the readers.
func (h *heads) note(s *stream, turn chain.Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stream != s {
		return // it has no readers any more
	}
	h.by = turn.By
	switch turn.Kind {
	case chain.Applied:
		h.memory.Add(turn.Block)
		h.head = turn.Block
	case chain.Reverted:
		h.memory.Add(turn.Block)
		h.head, _ = h.memory.Get(turn.Block.Parent)
		if turn.Block.Number <= h.final.Number {
			h.final = chain.Block{}
		}
	case chain.Finalized:
		h.final = turn.Block
	}
	close(s.news)
	s.news = make(chan struct{})
}

// shown returns what the stream has shown last, and what is closed when it shows more.
func (h *heads) shown(s *stream) (head, final chain.Block, by string, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head, h.final, h.by, s.news
}

// turns follows the stream from a block on.
func (f *Feed) turns(ctx context.Context, from chain.Block, yield func(chain.Turn) bool) error {
	s := f.join()
	defer f.leave(s)
	trail := ancestry.NewTrail(followed, f.heads.memory.Thread(from)...)
	for {
		head, final, by, more := f.heads.shown(s)
		turns, err := f.advance(ctx, trail, head, final)
		if err != nil {
			return err
		}
		for _, turn := range turns {
			if turn.By = by; !yield(turn) {
				return nil
			}
		}
		select {
		case <-more:
		case <-s.over:
			return s.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// advance returns a reader's turns to a head and to a final block, which is an ancestor of that.
func (f *Feed) advance(ctx context.Context, trail *ancestry.Trail, head, final chain.Block) ([]chain.Turn, error) {
	if head.Hash == "" {
		return nil, nil
	}
	turns, err := trail.TakeHead(head, func(hash chain.Hash) (chain.Block, error) { return f.block(ctx, hash) })
	if err != nil || final.Hash == "" {
		return turns, err
	}
	finals, err := trail.TakeFinal(final, func(chain.Block, chain.Block) (bool, error) { return true, nil })
	return append(turns, finals...), err
}

// block returns a block that was shown, or asks the chain for it, once for all readers.
func (f *Feed) block(ctx context.Context, hash chain.Hash) (chain.Block, error) {
	h := &f.heads
	if b, known := h.memory.Get(hash); known {
		return b, nil
	}
	h.mu.Lock()
	q := h.asked[hash]
	if q == nil {
		q = ask(f, func(ctx context.Context) (chain.Block, error) { return f.chain.Block(ctx, hash) })
		h.asked[hash] = q
	}
	h.mu.Unlock()
	b, err := q.wait(ctx)
	if over, _ := q.answered(); over {
		h.mu.Lock()
		delete(h.asked, hash)
		h.mu.Unlock()
	}
	if err == nil {
		h.memory.Add(b)
	}
	return b, err
}
