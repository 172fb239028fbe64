package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

const (
	feedPoll   = 2 * time.Second // interval of looks, which find what a broken watch missed
	feedLinger = time.Minute     // how long a feed goes on without listeners
	feedWindow = 256             // how many of the newest events each look compares
	feedLimit  = 8192            // the most events of a look; twice as many ids are remembered
	feedRing   = 1024            // how many events a stream can resume over without the database
	feedQueue  = 2048            // how many events a listener may fall behind: more than one bid writes
)

// feed sends new events to any number of listeners, with two connections in all. Events come
// from a watch, in the order in which they become visible. Looks at the history find those that
// a broken watch missed. It runs while there are listeners.
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
	ready  chan struct{} // closed once new events are passed on, or err is set
	err    error
	seen   map[int64]bool // by event id; the feed's lock guards this and all below
	floor  int64          // events with lower ids are ignored
	newest int64          // the highest id seen
	ring   []pgops.Event  // the last events, in the order in which they were passed on
	quiet  time.Time      // when the last listener left
}

// listener gets events on its channel, which is closed when it falls behind or the feed ends.
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

// join adds a listener, which gets every event recorded after join has returned. If its client resumes, after is the last
// id that it saw: missed has the events since, and gap reports that more may exist. The listener begins after the event at.
func (f *feed) join(ctx context.Context, scope string, resumes bool, after int64) (l *listener, missed []pgops.Event, gap bool, at int64, err error) {
	p := f.start()
	if p == nil {
		return nil, nil, false, 0, isEnding()
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil, nil, false, 0, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, nil, false, 0, p.err
	}
	l = &listener{scope: scope, events: make(chan *pgops.Event, feedQueue)}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, nil, false, 0, isEnding()
	}
	f.listeners[l] = struct{}{}
	known := slices.IndexFunc(p.ring, func(e pgops.Event) bool { return resumes && e.ID == after })
	if at = p.newest; len(p.ring) > 0 {
		at = p.ring[len(p.ring)-1].ID
	}
	if known >= 0 {
		// In the order in which they were passed on, which is the one that the client knows:
		// ids may become visible in another order than they were drawn.
		missed = slices.Clone(p.ring[known+1:])
	}
	f.mu.Unlock()
	if resumes && known < 0 {
		if missed, gap, err = f.since(ctx, after); err != nil {
			f.leave(l)
			return nil, nil, false, 0, err
		}
	}
	return l, slices.DeleteFunc(missed, func(e pgops.Event) bool { return scope != "" && e.Scope != scope }), gap, at, nil
}

// since reads the events after an id; gap reports that there may be more than it reads.
func (f *feed) since(ctx context.Context, after int64) (missed []pgops.Event, gap bool, err error) {
	events, err := f.reader.history(ctx, feedRing)
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

// drop removes a listener and closes its channel. It needs the lock.
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
