//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/internal/pause"
)

const (
	// dispatchMost is what was asked for: a second, and a block.
	dispatchMost = time.Second + chainTime
	stepping     = 100 * time.Millisecond // between two payments of one organisation
)

// deaths measures from kill -9 of the coordinator until anybody dispatches, as the owners of payments are told: each
// organisation but the dead one asks for payments all the time. The ceiling is what was asked for.
func (g *group) deaths(ctx context.Context, r *Report) error {
	many := g.cfg.amounts().deaths
	g.cfg.Say("sequencer: %d coordinators killed …", many)
	var took []time.Duration
	for range many {
		one, err := g.death(ctx)
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"max", 1}} {
		r.beside("coordinator_killed_to_dispatch_"+q.name, ms(quantile(took, q.at)), ms(dispatchMost), "ms")
	}
	return nil
}

func (g *group) death(ctx context.Context) (took time.Duration, err error) {
	victim, err := g.coordinator(ctx)
	if err != nil {
		return 0, err
	}
	var living []*consortium.Member
	for _, m := range g.Members {
		if m != victim {
			living = append(living, m)
		}
	}
	w := g.walk(ctx, living)
	defer w.stop()
	if err := w.flows(ctx, victim.Name(), time.Time{}); err != nil {
		return 0, err
	}
	at, err := victim.Kill(ctx)
	if err != nil {
		return 0, err
	}
	var first time.Time
	err = every(ctx, stepping, "another node dispatches", func() (bool, error) {
		first, err = w.dispatched(ctx, at, func(by string) bool { return by != victim.Name() })
		return !first.IsZero(), err
	})
	if err != nil {
		return 0, err
	}
	if first, err = w.dispatched(ctx, at, func(by string) bool { return by != victim.Name() }); err != nil { // of all nodes, now that one is sure
		return 0, err
	}
	w.stop()
	if err := errors.Join(w.fault, victim.Start(), g.meet(ctx), g.ended(ctx)); err != nil {
		return 0, err
	}
	return first.Sub(at), nil
}

// coordinator returns the node that all take for it.
func (g *group) coordinator(ctx context.Context) (found *consortium.Member, err error) {
	err = until(ctx, "all know one coordinator", func() (bool, error) {
		names := map[string]bool{}
		for _, m := range g.Members {
			s, err := g.status(ctx, m)
			if err != nil {
				return false, err
			}
			names[s.Coordinator] = true
		}
		for _, m := range g.Members {
			if names[m.Name()] {
				found = m
			}
		}
		return len(names) == 1 && found != nil, nil
	})
	return found, err
}

// walk is users who pay one after the other, without waiting for the end.
type walk struct {
	*group

	stop  func()
	mu    sync.Mutex
	asked []asking
	fault error
}

type asking struct {
	of *consortium.Member
	id string
	at time.Time
}

// walk has one user of each of some members pay, until stop is called.
func (g *group) walk(ctx context.Context, of []*consortium.Member) *walk {
	ctx, cancel := context.WithCancel(ctx)
	w := &walk{group: g}
	var all sync.WaitGroup
	w.stop = func() { cancel(); all.Wait() }
	for _, m := range of {
		for _, u := range g.users {
			if u.of == m {
				all.Go(func() { w.steps(ctx, u) })
				break
			}
		}
	}
	return w
}

func (w *walk) steps(ctx context.Context, u *user) {
	for pause.For(ctx, stepping) == nil {
		key, request := u.next()
		at := time.Now()
		id, err := w.post(context.WithoutCancel(ctx), u.of, key, request) // a payment whose answer is not awaited would be counted, and not known
		w.mu.Lock()
		if err != nil {
			w.fault = err
			w.mu.Unlock()
			return
		}
		w.asked = append(w.asked, asking{u.of, id, at})
		w.mu.Unlock()
	}
}

// flows waits until a node dispatches what was asked for after an instant.
func (w *walk) flows(ctx context.Context, by string, after time.Time) error {
	return every(ctx, stepping, by+" dispatches", func() (bool, error) {
		at, err := w.dispatched(ctx, after, func(name string) bool { return name == by })
		return !at.IsZero(), err
	})
}

// told is what the story of a payment says of one event.
type told struct {
	At          time.Time
	Event, Node string
}

// dispatched returns the first dispatch after an instant by one of certain nodes.
func (w *walk) dispatched(ctx context.Context, after time.Time, by func(name string) bool) (first time.Time, err error) {
	w.mu.Lock()
	asked, fault := w.asked, w.fault
	w.mu.Unlock()
	if fault != nil {
		return first, fault
	}
	for _, a := range asked {
		if !after.IsZero() && a.at.Before(after.Add(-2*dispatchMost)) {
			continue // it was dispatched long before
		}
		var said struct{ Story []told }
		if err := ask(ctx, a.of, http.MethodGet, w.transactions()+"/"+a.id, nil, &said); err != nil {
			return first, fmt.Errorf("the story of %s: %w", a.id, err)
		}
		for _, m := range said.Story {
			if m.Event == dispatchedEvent && by(m.Node) && m.At.After(after) && (first.IsZero() || m.At.Before(first)) {
				first = m.At
			}
		}
	}
	return first, nil
}

// dispatchedEvent is what a story calls the news that an entry was handed to the submitter.
const dispatchedEvent = "dispatched"
