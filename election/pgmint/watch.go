package pgmint

import (
	"context"
	"time"

	"github.com/conchhq/conch/internal/pg"
)

const (
	// watchPoll repairs what a lost notification would have hidden (S25).
	watchPoll = 2 * time.Second
	// watchBehind is how many events are looked at again: the ids of two
	// transactions may become visible in another order than they were drawn.
	watchBehind = 256
	// watchPatience is how long one look may take before the line counts as dead.
	watchPatience = 5 * time.Second
)

// Watch calls fn with each event that is recorded from now on, until ctx ends or
// fn fails. It survives a restart of the database.
func (o *Observer) Watch(ctx context.Context, scope string, fn func(Event) error) error {
	w := watcher{observer: o, scope: scope, seen: map[int64]bool{}}
	if err := o.conn.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM conch.leadership_history`).Scan(&w.last); err != nil {
		return err
	}
	w.floor = w.last
	nudge := make(chan struct{}, 1)
	poke := func() {
		select {
		case nudge <- struct{}{}:
		default:
		}
	}
	inner, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = pg.Listen(inner, o.cfg.pg(" watcher"), []string{o.cfg.channel()},
			pg.ListenFuncs{Up: poke, Notify: func(string, string) { poke() }})
	}()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(watchPoll)
	defer tick.Stop()
	for {
		if err := w.pass(ctx, fn); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-nudge:
		case <-tick.C:
		}
	}
}

type watcher struct {
	observer *Observer
	scope    string
	floor    int64 // events up to here are older than the watch
	last     int64
	seen     map[int64]bool
}

// pass hands on what is new.
func (w *watcher) pass(ctx context.Context, fn func(Event) error) error {
	o := w.observer
	if o.conn.IsClosed() {
		if !o.reconnect(ctx) {
			return nil // still down: the next tick tries again
		}
	}
	from := max(w.floor, w.last-watchBehind)
	look, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	events, err := o.events(look, `WHERE ($1 = '' OR scope = $1) AND id > $2 ORDER BY id`, w.scope, from)
	if err != nil && ctx.Err() == nil && !pg.IsLost(err) {
		return err
	}
	for _, e := range events { // none after an error
		if w.seen[e.ID] {
			continue
		}
		w.seen[e.ID] = true
		w.last = max(w.last, e.ID)
		if err := fn(e); err != nil {
			return err
		}
	}
	for id := range w.seen {
		if id <= w.last-watchBehind {
			delete(w.seen, id)
		}
	}
	return nil
}

func (o *Observer) reconnect(ctx context.Context) bool {
	conn, err := o.cfg.observer(ctx)
	if err == nil {
		o.conn = conn
	}
	return err == nil
}
