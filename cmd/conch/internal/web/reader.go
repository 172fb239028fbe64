package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// reader shares an observer among all requests, replaces it when it fails, and keeps past reads.
type reader struct {
	observe  func(ctx context.Context) (Observer, error)
	patience time.Duration
	turn     chan struct{} // holds one element; a goroutine takes it to use observer
	observer Observer

	mu       sync.Mutex
	answered time.Time // when the database last answered
	known    map[string]seen
	all      []pgops.ScopeStatus // the last complete list
	allAt    time.Time
}

// seen is the state of a scope and when it was read.
type seen struct {
	pgops.ScopeStatus
	at time.Time
}

func newReader(observe func(context.Context) (Observer, error), patience time.Duration) *reader {
	r := &reader{observe: observe, patience: patience, turn: make(chan struct{}, 1), known: map[string]seen{}}
	r.turn <- struct{}{}
	return r
}

func (r *reader) close() {
	<-r.turn // for good: later requests wait until their patience ends
	r.drop()
}

func (r *reader) drop() {
	if r.observer != nil {
		r.observer.Close()
		r.observer = nil
	}
}

// ask runs f, which must only read, on the observer. If f fails on an old connection, which
// may have died while idle, ask runs it again on a new one.
func (r *reader) ask(ctx context.Context, f func(context.Context, Observer) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	select {
	case <-r.turn:
		defer func() { r.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		old := r.observer != nil
		err := r.once(ctx, f)
		switch {
		case err == nil:
			r.mu.Lock()
			r.answered = time.Now()
			r.mu.Unlock()
			return nil
		case errors.As(err, new(*pgops.LockedError)):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !old:
			return err
		}
	}
}

func (r *reader) once(ctx context.Context, f func(context.Context, Observer) error) error {
	if r.observer == nil {
		o, err := r.observe(ctx)
		if err != nil {
			return err
		}
		r.observer = o
	}
	err := f(ctx, r.observer)
	if err != nil {
		r.drop()
	}
	return err
}

// history reads events, oldest first.
func (r *reader) history(ctx context.Context, limit int) (events []pgops.Event, err error) {
	err = r.ask(ctx, func(ctx context.Context, o Observer) (err error) {
		events, err = o.History(ctx, "", limit)
		return err
	})
	return events, err
}

// window reads a part of the history, oldest first.
func (r *reader) window(ctx context.Context, w pgops.Window) (events []pgops.Event, err error) {
	err = r.ask(ctx, func(ctx context.Context, o Observer) (err error) {
		events, err = o.Window(ctx, w)
		return err
	})
	return events, err
}

// reading is a result and when it was read. It is stale if the database is away now.
type reading struct {
	leaderships []pgops.ScopeStatus
	at          time.Time
	stale       bool
	why         error // it is stale
}

// leaderships reads one scope, or all if scope is empty. While the database is away it returns
// the last reading, marked stale (S21).
func (r *reader) leaderships(ctx context.Context, scope string) (reading, error) {
	got := reading{at: time.Now()} // before asking: the data is not older than it says
	err := r.ask(ctx, func(ctx context.Context, o Observer) (err error) {
		got.leaderships, err = o.Scopes(ctx, scope)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return r.remembered(scope, err)
	}
	if scope == "" {
		r.all, r.allAt = got.leaderships, got.at
	}
	for _, l := range got.leaderships {
		r.known[l.Scope] = seen{l, got.at}
	}
	return got, nil
}

func (r *reader) remembered(scope string, err error) (reading, error) {
	if scope == "" {
		if r.allAt.IsZero() {
			return reading{}, err
		}
		return reading{leaderships: r.all, at: r.allAt, stale: true, why: err}, nil
	}
	was, ok := r.known[scope]
	if !ok {
		return reading{}, err
	}
	return reading{leaderships: []pgops.ScopeStatus{was.ScopeStatus}, at: was.at, stale: true, why: err}, nil
}

// reached asks the database, unless it has answered within the given time.
func (r *reader) reached(ctx context.Context, within time.Duration) error {
	r.mu.Lock()
	recent := !r.answered.IsZero() && time.Since(r.answered) < within
	r.mu.Unlock()
	if recent {
		return nil
	}
	_, err := r.history(ctx, 1)
	return err
}
