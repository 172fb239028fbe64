package web

import (
	"context"
	"time"

	"github.com/conchhq/conch/election/pgmint"
)

// run is the life of a pump: a first look that tells nothing, then looks whenever
// the watch nudges or the poll is due.
func (f *feed) run(ctx context.Context, p *pump) {
	defer p.cancel()
	first, err := f.reader.history(ctx, "", feedWindow)
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
	if len(first) == feedWindow {
		p.floor = first[0].ID // whatever is older may be unseen and is old all the same
	}
	close(p.ready)

	nudge := make(chan struct{}, 1)
	f.running.Go(func() { f.watch(ctx, nudge) })
	tick := time.NewTicker(feedPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			f.finish(p)
			return
		case <-nudge:
		case <-tick.C:
			if f.idle(p) {
				return
			}
		}
		f.look(ctx, p)
	}
}

// watch nudges whenever something is recorded, and once whenever it begins anew:
// something may have been recorded meanwhile.
func (f *feed) watch(ctx context.Context, nudge chan<- struct{}) {
	poke := func(pgmint.Event) error {
		select {
		case nudge <- struct{}{}:
		default:
		}
		return nil
	}
	for ctx.Err() == nil {
		o, err := f.observe(ctx)
		if err == nil {
			_ = poke(pgmint.Event{})
			_ = o.Watch(ctx, "", poke) // whatever ended it, the next one begins below
			o.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(feedPoll):
		}
	}
}

// look tells of every event that it has not seen. It runs in the pump's goroutine,
// which alone uses seen, newest and floor.
func (f *feed) look(ctx context.Context, p *pump) {
	var events []pgmint.Event
	for limit := feedWindow; ; limit *= 2 {
		var err error
		if events, err = f.reader.history(ctx, "", limit); err != nil {
			return // the next tick tries again
		}
		if len(events) < limit || events[0].ID <= p.newest || limit >= feedLimit {
			break // it reaches back to what was seen
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if e.ID < p.floor || p.seen[e.ID] {
			continue
		}
		p.seen[e.ID] = true
		p.newest = max(p.newest, e.ID)
		p.ring = append(p.ring, e)
		f.tell(e)
	}
	if over := len(p.ring) - feedRing; over > 0 {
		p.ring = append([]pgmint.Event(nil), p.ring[over:]...)
	}
	if len(events) >= feedWindow { // or this is all there is, and an older id may still turn up
		p.floor = max(p.floor, events[0].ID)
		for id := range p.seen {
			if id < p.floor {
				delete(p.seen, id)
			}
		}
	}
}

// tell hands an event to whoever wants it, and drops who does not keep up: its
// client comes back and resumes, and holds nobody up meanwhile.
func (f *feed) tell(e pgmint.Event) {
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
