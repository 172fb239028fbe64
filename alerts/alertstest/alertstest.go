// Package alertstest has what tests and the laboratory need of package alerts besides the evaluator: a store in memory, the suite that each store passes, and
// the simulated world.
package alertstest

import (
	"context"
	"sync"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/internal/firehouse"
	"github.com/conchhq/conch/alerts/memory"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what tells of alerts in a world of faults: conch-lab sim alerts.
func Simulator() world.Simulator[firehouse.Config, struct{}] { return firehouse.Simulator() }

// Store is a store in memory that refuses tokens, and fails if it is told to. It is safe for concurrent use.
type Store struct {
	inner *memory.Store

	mu    sync.Mutex
	epoch int64
	fails error
}

// NewStore returns an empty store, whose first leader has epoch 1.
func NewStore() *Store { return &Store{inner: memory.NewStore(), epoch: 1} }

// Depose has the leader of an epoch be the current one.
func (s *Store) Depose(epoch int64) { s.set(func() { s.epoch = epoch }) }

// Fail has each call return an error; nil: none does any more.
func (s *Store) Fail(err error) { s.set(func() { s.fails = err }) }

func (s *Store) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// with calls the store in memory, unless it fails.
func with[T any](s *Store, do func() (T, error)) (got T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return got, s.fails
	}
	return do()
}

// Load implements [alerts.Store].
func (s *Store) Load(ctx context.Context) (alerts.Loaded, error) {
	return with(s, func() (alerts.Loaded, error) { return s.inner.Load(ctx) })
}

// Look implements [alerts.Store].
func (s *Store) Look(ctx context.Context) (alerts.Looked, error) {
	return with(s, func() (alerts.Looked, error) { return s.inner.Look(ctx) })
}

// Record implements [alerts.Store].
func (s *Store) Record(ctx context.Context, t fence.Token, rows alerts.Rows) error {
	_, err := with(s, func() (any, error) {
		if t.Epoch != s.epoch {
			return nil, fence.ErrStale
		}
		return nil, s.inner.Record(ctx, t, rows)
	})
	return err
}

// Report implements [alerts.Post].
func (s *Store) Report(ctx context.Context, r alerts.Report) (alerts.Reported, error) {
	return with(s, func() (alerts.Reported, error) { return s.inner.Report(ctx, r) })
}

// Claim implements [alerts.Post].
func (s *Store) Claim(ctx context.Context, node string, evaluation uint64) (bool, error) {
	return with(s, func() (bool, error) { return s.inner.Claim(ctx, node, evaluation) })
}

// Samples returns what nodes have reported, above an id and without some.
func (s *Store) Samples(ctx context.Context, after int64, without []int64) ([]alerts.Sample, error) {
	return with(s, func() ([]alerts.Sample, error) { return s.inner.Samples(ctx, after, without) })
}

// SetSilence sets a silence.
func (s *Store) SetSilence(ctx context.Context, one alerts.Silence) error {
	_, err := with(s, func() (any, error) { return nil, s.inner.SetSilence(ctx, one) })
	return err
}

// EndSilence ends a silence now.
func (s *Store) EndSilence(ctx context.Context, id string) (bool, error) {
	return with(s, func() (bool, error) { return s.inner.EndSilence(ctx, id) })
}
