package feed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// Feed shares one chain between accounts. Its methods, and those of what Of returns, are safe for concurrent use.
type Feed struct {
	chain chain.Chain
	over  context.Context // ends with Close
	end   context.CancelFunc
	work  sync.WaitGroup

	heads  heads
	blocks blocks
	counts counts
	about  about
}

// New shares a chain. Close it before the chain.
func New(c chain.Chain) *Feed {
	f := &Feed{chain: c}
	f.over, f.end = context.WithCancel(context.Background())
	f.heads.memory = ancestry.NewMemory(remembered)
	f.heads.asked = map[chain.Hash]*question[chain.Block]{}
	f.blocks.read = map[chain.Hash]*reading{}
	return f
}

// Close ends the stream of heads and all questions, and waits for them.
func (f *Feed) Close() {
	f.end()
	f.work.Wait()
}

// Of returns the chain as one account reads it. From then on each block is read for this account too.
func (f *Feed) Of(a chain.Account) chain.Chain {
	f.blocks.add(a)
	return &view{f.chain, f}
}

// view is the chain for one account. What is not shared goes to the chain itself.
type view struct {
	chain.Chain
	feed *Feed
}

// Describe implements chain.Chain. The answer may be some seconds old.
func (v *view) Describe(ctx context.Context) (chain.Description, error) { return v.feed.describe(ctx) }

// Next implements chain.Chain.
func (v *view) Next(ctx context.Context, a chain.Account) (uint64, error) {
	return v.feed.count(ctx, a)
}

// Heads implements chain.Chain. A reader that was away, or is slow, is told all turns from where it was.
func (v *view) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		err := v.feed.turns(ctx, from, func(turn chain.Turn) bool { return yield(turn, nil) })
		if err != nil {
			yield(chain.Turn{}, err)
		}
	}
}

// Inclusions implements chain.Chain. A block is read once for all accounts.
func (v *view) Inclusions(ctx context.Context, b chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	return v.feed.inclusions(ctx, b, accounts)
}

// patience bounds one question, whose answer may have several callers.
const patience = time.Minute

// question is one that is under way.
type question[T any] struct {
	over chan struct{} // closed once there is an answer
	got  T
	err  error
}

// ask asks a question in the feed's own time: the caller who came first may go first.
func ask[T any](f *Feed, q func(ctx context.Context) (T, error)) *question[T] {
	one := &question[T]{over: make(chan struct{})}
	f.work.Go(func() {
		defer close(one.over)
		ctx, cancel := context.WithTimeout(f.over, patience)
		defer cancel()
		one.got, one.err = q(ctx)
	})
	return one
}

// wait returns the answer, or the error of ctx if that ends first.
func (q *question[T]) wait(ctx context.Context) (got T, err error) {
	select {
	case <-q.over:
		return q.got, q.err
	case <-ctx.Done():
		return got, late(ctx)
	}
}

// late returns the error for a caller whose context has ended before the answer came. If its time was up the endpoint is
// named: a bare deadline may be anybody's.
func late(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w in time: %w", chain.ErrUnreachable, err)
	}
	return ctx.Err()
}

// answered reports whether there is an answer, and whether it is an error.
func (q *question[T]) answered() (over, failed bool) {
	select {
	case <-q.over:
		return true, q.err != nil
	default:
		return false, false
	}
}
