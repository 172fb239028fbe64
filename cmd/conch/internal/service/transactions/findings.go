package transactions

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

const (
	findPatience = 2 * time.Second  // how long a request waits for endpoints, and for a place before that
	findAgain    = 10 * time.Second // when a silent endpoint is asked again
	mostFinds    = 8                // questions under way
	mostFound    = 8 << 20          // bytes that are remembered
	foundLeast   = 512              // bytes of each
	harmless     = "%.300s"         // of other people's words
)

var (
	errFinds  = errors.New("too many ask now: ask again in a moment")
	errSilent = errors.New("the endpoints of the chain have not answered in time: ask again in a moment")
)

// findings has what endpoints say of transactions in blocks. It is found out when somebody asks, once for each transaction and block.
// Nothing else waits for it. It is safe for concurrent use.
type findings[T any] struct {
	find   func(ctx context.Context, a Account, r pending.Record) finding[T]
	places chan struct{}
	now    func() time.Time

	mu    sync.Mutex
	known map[inBlock]finding[T]
	bytes int // of all that are known
}

// inBlock is a transaction in a block: what is found out of it there is not shown once it is in another one.
type inBlock struct {
	id    pending.ID
	hash  chain.Hash
	block chain.Hash
}

type finding[T any] struct {
	is    T
	bytes int
	after time.Duration // when it may be asked for again; 0: never
	again time.Time
}

func newFindings[T any](find func(context.Context, Account, pending.Record) finding[T]) *findings[T] {
	return &findings[T]{find: find, places: make(chan struct{}, mostFinds), now: time.Now, known: map[inBlock]finding[T]{}}
}

// of returns what is found of a transaction in its block, or an error if there is no place in time.
func (f *findings[T]) of(ctx context.Context, a Account, r pending.Record) (out T, err error) {
	key := inBlock{r.ID, r.Last.Hash, r.Last.Block.Hash}
	if found, is := f.remembered(key); is {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	select {
	case f.places <- struct{}{}:
		defer func() { <-f.places }()
	case <-ctx.Done():
		return out, errFinds
	}
	if found, is := f.remembered(key); is { // by one that was asked for before
		return found, nil
	}
	found := f.find(ctx, a, r)
	if found.after > 0 {
		found.again = f.now().Add(found.after)
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // else nobody reads it
		f.remember(key, found)
	}
	return found.is, nil
}

func (f *findings[T]) remembered(key inBlock) (out T, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, is := f.known[key]
	return found.is, is && (found.again.IsZero() || f.now().Before(found.again))
}

func (f *findings[T]) remember(key inBlock, found finding[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found.bytes += foundLeast
	if f.bytes += found.bytes - f.known[key].bytes; f.bytes > mostFound {
		clear(f.known)
		f.bytes = found.bytes
	}
	f.known[key] = found
}
