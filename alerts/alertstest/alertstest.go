// Package alertstest has what tests and the laboratory need of package alerts besides the evaluator: a store in memory, the suite that each store passes, and
// the simulated world.
package alertstest

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/internal/firehouse"
	"github.com/conchhq/conch/alerts/internal/tables"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what tells of alerts in a world of faults: conch-lab sim alerts.
func Simulator() world.Simulator[firehouse.Config, struct{}] { return firehouse.Simulator() }

// Store is a store in memory. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	tables *tables.Tables
	epoch  int64
	fails  error
}

// NewStore returns an empty store, whose first leader has epoch 1.
func NewStore() *Store { return &Store{tables: tables.New(), epoch: 1} }

// Depose has the leader of an epoch be the current one.
func (s *Store) Depose(epoch int64) { s.set(func() { s.epoch = epoch }) }

// Fail has each call return an error; nil: none does any more.
func (s *Store) Fail(err error) { s.set(func() { s.fails = err }) }

func (s *Store) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func with[T any](s *Store, do func(now time.Time) (T, error)) (got T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return got, s.fails
	}
	return do(time.Now().UTC().Truncate(time.Microsecond))
}

// Load implements [alerts.Store].
func (s *Store) Load(context.Context) (alerts.Loaded, error) {
	return with(s, func(now time.Time) (alerts.Loaded, error) { return s.tables.Load(now), nil })
}

// Look implements [alerts.Store].
func (s *Store) Look(context.Context) (alerts.Looked, error) {
	return with(s, func(now time.Time) (alerts.Looked, error) { return s.tables.Look(now), nil })
}

// Record implements [alerts.Store].
func (s *Store) Record(_ context.Context, t fence.Token, rows alerts.Rows) error {
	_, err := with(s, func(now time.Time) (any, error) {
		if t.Epoch != s.epoch {
			return nil, fence.ErrStale
		}
		s.tables.Record(rows, now)
		return nil, nil
	})
	return err
}

// Report implements [alerts.Post].
func (s *Store) Report(_ context.Context, r alerts.Report) (alerts.Reported, error) {
	return with(s, func(now time.Time) (alerts.Reported, error) { return s.tables.Report(r, now), nil })
}

// Claim implements [alerts.Post].
func (s *Store) Claim(_ context.Context, node string, evaluation uint64) (bool, error) {
	return with(s, func(now time.Time) (bool, error) { return s.tables.Claim(node, evaluation, now), nil })
}

// Samples returns what nodes have reported, above an id.
func (s *Store) Samples(_ context.Context, after int64) ([]alerts.Sample, error) {
	return with(s, func(time.Time) ([]alerts.Sample, error) { return s.tables.Samples(after), nil })
}

// SetSilence sets a silence.
func (s *Store) SetSilence(_ context.Context, one alerts.Silence) error {
	_, err := with(s, func(time.Time) (any, error) {
		if err := one.Validate(); err != nil {
			return nil, err
		}
		s.tables.Silence(one)
		return nil, nil
	})
	return err
}

// EndSilence ends a silence now.
func (s *Store) EndSilence(_ context.Context, id string) (bool, error) {
	return with(s, func(now time.Time) (bool, error) { return s.tables.Unsilence(id, now), nil })
}
