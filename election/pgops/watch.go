package pgops

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/step"
)

const (
	watchPoll = 2 * time.Second // repairs a lost notification (S25)
	// watchPatience is how long one look may take before its connection counts as dead.
	watchPatience = 5 * time.Second
)

// Watch calls fn with each event of a scope, or of all scopes if scope is empty, that is
// recorded from now on, until ctx ends or fn fails. It survives a restart of the database.
func (o *Observer) Watch(ctx context.Context, scope string, fn func(Event) error) error {
	w := watcher{observer: o, scope: scope, cursor: cursor{seen: map[int64]bool{}}}
	if err := w.begin(ctx); err != nil {
		return o.named(ctx, err)
	}
	nudge := step.NewWake()
	inner, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = pg.Listen(inner, o.cfg.Connection(" watcher"), []string{o.cfg.Channel()},
			pg.ListenFuncs{Up: nudge.Ring, Notify: func(string, string) { nudge.Ring() }})
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
	cursor   cursor
}

// begin marks what is in the history as seen, so that fn is not called with it. An event whose
// transaction has not committed is new.
func (w *watcher) begin(ctx context.Context) error {
	if err := w.look(ctx); err != nil {
		return err
	}
	rows, _ := w.observer.conn.Query(ctx, // they have its error
		`SELECT id FROM conch.leadership_history WHERE ($1 = '' OR scope = $1) AND id > $2`, w.scope, w.cursor.from)
	var id int64
	_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
		w.cursor.isNew(id)
		return nil
	})
	return err
}

// look reads the highest id of the history and which transactions are under way.
func (w *watcher) look(ctx context.Context) error {
	var oldest, next, top int64
	err := w.observer.conn.QueryRow(ctx, `SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,
		(SELECT coalesce(max(id), 0) FROM conch.leadership_history) FROM pg_current_snapshot() AS s`).Scan(&oldest, &next, &top)
	if err == nil {
		w.cursor.look(oldest, next, top)
	}
	return err
}

// pass calls fn with the events that are new.
func (w *watcher) pass(ctx context.Context, fn func(Event) error) error {
	o := w.observer
	if o.conn.IsClosed() {
		if o.connect(ctx) != nil {
			return nil // still down: the next tick tries again
		}
		w.cursor.moved()
	}
	patient, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	var events []Event
	err := w.look(patient)
	if err == nil {
		events, err = o.events(patient, `WHERE ($1 = '' OR scope = $1) AND id > $2 ORDER BY id`, w.scope, w.cursor.from)
	}
	if err != nil && patient.Err() == nil && !pg.IsLost(err) {
		return err
	}
	if err == nil { // or the next tick tries again
		for _, e := range events {
			if !w.cursor.isNew(e.ID) {
				continue
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		w.cursor.advance()
	}
	return nil
}
