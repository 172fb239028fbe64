package web

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// run is the life of a pump: a first look that tells nothing, then a watch, and looks
// whenever one begins or the poll is due.
func (f *feed) run(ctx context.Context, p *pump) {
	defer p.cancel()
	first, err := f.reader.history(ctx, "", feedLimit)
	if err != nil {
		f.mu.Lock()
		f.pump, p.err = nil, err
		f.mu.Unlock()
		close(p.ready)
		return
	}
	for _, e := range first {
		p.seen[e.ID] = true
		p.newest = max(p.newest, e.ID)
	}
	if len(first) == feedLimit {
		p.floor = first[0].ID // whatever is older may be unseen and is old all the same
	}
	close(p.ready)

	begun := make(chan struct{}, 1)
	f.running.Go(func() { f.watch(ctx, p, begun) })
	tick := time.NewTicker(feedPoll)
	defer tick.Stop()
	var deep time.Time
	for {
		select {
		case <-ctx.Done():
			f.finish(p)
			return
		case <-begun:
			deep = time.Now().Add(2 * feedPoll)
		case <-tick.C:
			if f.idle(p) {
				return
			}
		}
		least := feedWindow
		if time.Now().Before(deep) {
			least = feedLimit // what became visible between two watches may be anywhere
		}
		f.look(ctx, p, least)
	}
}

// watch has each event told that is recorded, and says when it begins, also anew:
// something may have been recorded meanwhile.
func (f *feed) watch(ctx context.Context, p *pump, begun chan<- struct{}) {
	for ctx.Err() == nil {
		o, err := f.observe(ctx)
		if err == nil {
			select {
			case begun <- struct{}{}:
			default:
			}
			// Whatever ends it, the next one begins below.
			_ = o.Watch(ctx, "", func(e pgops.Event) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.record(p, e)
				return nil
			})
			o.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(feedPoll):
		}
	}
}

// look tells of every event that was not seen, among the newest.
func (f *feed) look(ctx context.Context, p *pump, least int) {
	f.mu.Lock()
	newest := p.newest
	f.mu.Unlock()
	var events []pgops.Event
	for limit := least; ; limit *= 2 {
		var err error
		if events, err = f.reader.history(ctx, "", limit); err != nil {
			return // the next tick tries again
		}
		if len(events) < limit || events[0].ID <= newest || limit >= feedLimit {
			break // it reaches back to what was seen
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if e.ID >= p.floor {
			f.record(p, e)
		}
	}
	// Not sooner: an older id may still turn up, or be told of by the watch once more.
	p.floor = max(p.floor, p.newest-2*feedLimit)
	maps.DeleteFunc(p.seen, func(id int64, _ bool) bool { return id < p.floor })
}

// record tells of an event that was not seen before. It is called with the lock held.
func (f *feed) record(p *pump, e pgops.Event) {
	if p.seen[e.ID] {
		return
	}
	p.seen[e.ID] = true
	p.newest = max(p.newest, e.ID)
	if p.ring = append(p.ring, e); len(p.ring) >= 2*feedRing {
		p.ring = slices.Clone(p.ring[len(p.ring)-feedRing:])
	}
	f.tell(&e)
}

// tell hands an event to whoever wants it, and drops who does not keep up: its
// client comes back and resumes, and holds nobody up meanwhile.
func (f *feed) tell(e *pgops.Event) {
	for l := range f.listeners {
		if l.scope != "" && l.scope != e.Scope {
			continue
		}
		select {
		case l.events <- e:
		default:
			f.drop(l)
		}
	}
}

// idle ends a pump that nobody has listened to for a while.
func (f *feed) idle(p *pump) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) > 0 || time.Since(p.quiet) < feedLinger {
		return false
	}
	f.pump = nil
	return true
}

func (f *feed) finish(p *pump) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pump == p {
		f.pump = nil
	}
	for l := range f.listeners {
		f.drop(l)
	}
}
