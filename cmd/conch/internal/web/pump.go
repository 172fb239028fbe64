package web

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/step"
)

// run runs a pump. The first look at the history passes nothing on. Then a watch passes events
// on, with another look whenever a watch begins or the poll is due.
func (f *feed) run(ctx context.Context, p *pump) {
	defer p.cancel()
	first, err := f.reader.history(ctx, feedLimit)
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
		p.floor = first[0].ID // older events are unseen, and not new
	}
	close(p.ready)

	begun := step.NewWake()
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
			least = feedLimit // an event that appeared between two watches may be far back
		}
		f.look(ctx, p, least)
	}
}

// watch passes on each recorded event. Whenever it begins, also again after a failure, it
// signals begun, since events may have been recorded before.
func (f *feed) watch(ctx context.Context, p *pump, begun step.Wake) {
	for ctx.Err() == nil {
		o, err := f.observe(ctx)
		if err == nil {
			begun.Ring()
			// Whatever ends this watch, the loop begins the next.
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

// look passes on unseen events. It reads the newest least events, or more if these do not
// reach back to a seen one.
func (f *feed) look(ctx context.Context, p *pump, least int) {
	f.mu.Lock()
	newest := p.newest
	f.mu.Unlock()
	var events []pgops.Event
	for limit := least; ; limit *= 2 {
		var err error
		if events, err = f.reader.history(ctx, limit); err != nil {
			return // the next tick tries again
		}
		if len(events) < limit || events[0].ID <= newest || limit >= feedLimit {
			break // reaches back to seen events
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if e.ID >= p.floor {
			f.record(p, e)
		}
	}
	// Remember that many ids: an old one may still become visible, or come from the watch again.
	p.floor = max(p.floor, p.newest-2*feedLimit)
	maps.DeleteFunc(p.seen, func(id int64, _ bool) bool { return id < p.floor })
}

// record passes on an event unless it was seen before. It needs the lock.
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

// tell sends an event to the listeners of its scope. It drops a listener that does not keep up
// and would delay the others; its client reconnects and resumes.
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

// idle ends a pump that has had no listener for feedLinger, and reports whether it did.
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
