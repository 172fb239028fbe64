package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

const (
	feedPoll   = 2 * time.Second // repairs what a watch that broke would have hidden
	feedLinger = time.Minute     // how long a feed goes on that nobody listens to
	feedWindow = 256             // how many of the newest events each look compares
	feedLimit  = 8192            // how many a look may take, and how far back events are told apart
	feedRing   = 1024            // how many events a stream can resume over without asking the database
	feedQueue  = 2048            // how far a listener may fall behind: more than one bid writes
)

// feed tells any number of listeners of new events with two connections in all. A watch
// of the history has them, in whatever order they become visible; looks at the history
// itself find what a watch that broke has missed. It runs while somebody listens.
type feed struct {
	observe func(ctx context.Context) (Observer, error)
	reader  *reader
	running sync.WaitGroup

	mu        sync.Mutex
	pump      *pump
	listeners map[*listener]struct{}
	closed    bool
}

// pump is one run of a feed.
type pump struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed when events are told from here on, or err is set
	err    error
	seen   map[int64]bool // with the lock of the feed held, as all below
	floor  int64          // older events are not told of
	newest int64          // the highest id seen
	ring   []pgops.Event  // as they were told
	quiet  time.Time      // when the last listener left
}

// listener gets events on its channel; it is closed when the listener fell behind
// or the feed ended.
type listener struct {
	scope  string
	events chan *pgops.Event
}

func newFeed(observe func(context.Context) (Observer, error), r *reader) *feed {
	return &feed{observe: observe, reader: r, listeners: map[*listener]struct{}{}}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	if f.pump != nil {
		f.pump.cancel()
	}
	f.mu.Unlock()
	f.running.Wait()
}

// join adds a listener. Everything that is recorded after join has returned
// reaches it, and, if it names the id that it saw last, everything since.
func (f *feed) join(ctx context.Context, scope string, after int64) (l *listener, missed []pgops.Event, gap bool, err error) {
	p := f.start()
	if p == nil {
		return nil, nil, false, isEnding()
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil, nil, false, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, nil, false, p.err
	}
	l = &listener{scope: scope, events: make(chan *pgops.Event, feedQueue)}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, nil, false, isEnding()
	}
	f.listeners[l] = struct{}{}
	at := slices.IndexFunc(p.ring, func(e pgops.Event) bool { return e.ID == after })
	if at >= 0 {
		// In the order in which they were told, which is the order the client knows: the
		// ids of two transactions can become visible in another order than they were drawn.
		missed = slices.Clone(p.ring[at+1:])
	}
	f.mu.Unlock()
	if after > 0 && at < 0 {
		if missed, gap, err = f.since(ctx, after); err != nil {
			f.leave(l)
			return nil, nil, false, err
		}
	}
	return l, slices.DeleteFunc(missed, func(e pgops.Event) bool { return scope != "" && e.Scope != scope }), gap, nil
}

// since reads what the history has after an id; gap says that there may be more
// than it reads.
func (f *feed) since(ctx context.Context, after int64) (missed []pgops.Event, gap bool, err error) {
	events, err := f.reader.history(ctx, "", feedRing)
	if err != nil {
		return nil, false, err
	}
	gap = len(events) == feedRing && events[0].ID > after
	return slices.DeleteFunc(events, func(e pgops.Event) bool { return e.ID <= after }), gap, nil
}

func (f *feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(l)
}

// drop is called with the lock held.
func (f *feed) drop(l *listener) {
	if _, in := f.listeners[l]; !in {
		return
	}
	delete(f.listeners, l)
	close(l.events)
	if f.pump != nil && len(f.listeners) == 0 {
		f.pump.quiet = time.Now()
	}
}

// start returns the pump that runs, or a new one; nil when the feed is closed.
func (f *feed) start() *pump {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	if f.pump == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f.pump = &pump{cancel: cancel, ready: make(chan struct{}), seen: map[int64]bool{}, quiet: time.Now()}
		p := f.pump
		f.running.Go(func() { f.run(ctx, p) })
	}
	f.pump.quiet = time.Now()
	return f.pump
}
