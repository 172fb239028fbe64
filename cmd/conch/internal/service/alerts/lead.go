package alerts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/webhook"
)

// store is what keeps alerts: tables of a database, or this process.
type store interface { //nolint:interfacebloat // what a leader, a node and an operator ask of it
	alerts.Store
	alerts.Post
	Samples(ctx context.Context, after int64, without []int64) ([]alerts.Sample, error)
	SetSilence(ctx context.Context, one alerts.Silence) error
	EndSilence(ctx context.Context, id string) (ended bool, err error)
}

// watch reports what this node knows of itself, and tells what no leader can, until ctx ends. Without a database this node evaluates too.
func (s *service) watch(ctx context.Context) {
	for ctx.Err() == nil {
		u, changed := s.now()
		if u == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		s.during(ctx, changed, func(ctx context.Context) {
			var beside sync.WaitGroup
			defer beside.Wait()
			if !u.section.led {
				beside.Go(func() { _ = s.evaluate(ctx, u, fence.Standalone(Scope, s.frame.ID)) }) // ends with ctx
			}
			w, err := alerts.NewWatcher(s.told(u), s.store, newSampler(s.frame.Collectors(), u.section), teller{u, nil})
			if err != nil { // cannot happen: the setup was validated
				s.frame.Log.Error("alerts are not watched", slog.Any("error", err))
				<-ctx.Done()
				return
			}
			_ = w.Run(ctx) // ends with ctx
		})
	}
}

// during does something until ctx ends or the file has changed.
func (s *service) during(ctx context.Context, changed <-chan struct{}, do func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	var waits sync.WaitGroup
	defer waits.Wait()
	defer cancel()
	waits.Go(func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	})
	do(ctx)
}

// Work implements node.Service.
func (s *service) Work(config.Role, func(error)) (node.Work, func(context.Context)) {
	return s.lead, nil
}

// lead evaluates the alerts of all nodes while this node leads. A file that is read again counts at once, within the same term.
func (s *service) lead(ctx context.Context, l election.Leadership) (err error) {
	s.frame.Log.Info("evaluating alerts", slog.Int64("epoch", l.Token.Epoch))
	for ctx.Err() == nil && err == nil {
		u, changed := s.now()
		if u == nil || !u.section.led {
			return nil // a reload has just removed it
		}
		s.during(ctx, changed, func(ctx context.Context) { err = s.evaluate(ctx, u, l.Gate) })
	}
	if ctx.Err() != nil {
		return nil // the elector ended the term and knows why
	}
	return err
}

// evaluate evaluates and tells behind a gate until ctx ends, which is no error.
func (s *service) evaluate(ctx context.Context, u *setup, gate *fence.Gate) error {
	ctx, cancel := context.WithCancel(ctx)
	beats := make(chan struct{}, 1)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { s.callHearts(ctx, u, gate, beats) })
	over := newEvaluator(u.section, s.rows)
	over.odd = func(err error) { s.ledger.complain(s.frame.Log, "read a sample", err) }
	e, err := alerts.New(s.told(u), recorded{s.store, beats}, over, teller{u, actsOf(gate)})
	if err != nil {
		return err
	}
	s.leads(e)
	defer s.leads(nil)
	if err := e.Lead(ctx, gate); ctx.Err() == nil {
		return err
	}
	return nil
}

// actsOf returns what has something written as an act of a gate.
func actsOf(gate *fence.Gate) webhook.Act {
	return func(write func(context.Context) error) error {
		return gate.Do(context.Background(), fence.Act, 0, func(answer context.Context, _ fence.Token) error { return write(answer) })
	}
}

// rows reads what nodes have reported.
func (s *service) rows(ctx context.Context, after uint64, without []uint64) ([]condition.Row, error) {
	ids := make([]int64, len(without))
	for i, id := range without {
		ids[i] = int64(id)
	}
	all, err := s.store.Samples(ctx, int64(after), ids)
	rows := make([]condition.Row, len(all))
	for i, one := range all {
		rows[i] = condition.Row{Node: one.Node, Seq: uint64(one.ID), Body: one.Body, At: one.At}
	}
	return rows, err
}

// recorded is a store that says when an evaluation is recorded.
type recorded struct {
	alerts.Store
	is chan<- struct{}
}

// Record implements alerts.Store.
func (r recorded) Record(ctx context.Context, t fence.Token, rows alerts.Rows) error {
	err := r.Store.Record(ctx, t, rows)
	if err == nil && rows.Evaluation != nil {
		select {
		case r.is <- struct{}{}:
		default:
		}
	}
	return err
}

// heartEach is how often somebody outside is told that alerts are evaluated.
const heartEach = time.Minute

// callHearts calls somebody outside each minute as long as evaluations are recorded: that somebody misses a call if all of conch is gone.
func (s *service) callHearts(ctx context.Context, u *setup, gate *fence.Gate, beats <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats:
		}
		var calls sync.WaitGroup
		var shut atomic.Bool
		for _, r := range u.hearts() {
			calls.Go(func() {
				err := gate.Do(ctx, fence.Act, receiver.Patience, func(ctx context.Context, _ fence.Token) error {
					_, err := r.Beat(ctx, actsOf(gate))
					return err
				})
				switch {
				case errors.Is(err, fence.ErrShut):
					shut.Store(true)
				case ctx.Err() == nil:
					s.ledger.called(s.frame.Log, r.Name, err)
				}
			})
		}
		if calls.Wait(); shut.Load() {
			continue
		}
		if pause.For(ctx, heartEach-u.section.interval) != nil {
			return
		}
		select {
		case <-beats: // it is old by now
		default:
		}
	}
}
