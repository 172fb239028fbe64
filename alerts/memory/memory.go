// Package memory keeps what package alerts keeps for a node that has no database, and evaluates what it knows of itself alone: all of it is
// forgotten when the process ends.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/internal/tables"
	"github.com/conchhq/conch/fence"
)

// Store is an [alerts.Store] and an [alerts.Post] of one process, with silences and samples. It takes every token, since nobody else can write to
// it. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	tables *tables.Tables
}

var (
	_ alerts.Store = (*Store)(nil)
	_ alerts.Post  = (*Store)(nil)
)

// NewStore returns an empty store.
func NewStore() *Store { return &Store{tables: tables.New()} }

// with has the tables to itself, at a time as exact as a database has it.
func with[T any](s *Store, do func(t *tables.Tables, now time.Time) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s.tables, time.Now().UTC().Truncate(time.Microsecond))
}

// Load implements [alerts.Store].
func (s *Store) Load(context.Context) (alerts.Loaded, error) {
	return with(s, func(t *tables.Tables, now time.Time) alerts.Loaded { return t.Load(now) }), nil
}

// Look implements [alerts.Store].
func (s *Store) Look(context.Context) (alerts.Looked, error) {
	return with(s, func(t *tables.Tables, now time.Time) alerts.Looked { return t.Look(now) }), nil
}

// Record implements [alerts.Store].
func (s *Store) Record(_ context.Context, _ fence.Token, rows alerts.Rows) error {
	with(s, func(t *tables.Tables, now time.Time) any { t.Record(rows, now); return nil })
	return nil
}

// Report implements [alerts.Post].
func (s *Store) Report(_ context.Context, r alerts.Report) (alerts.Reported, error) {
	return with(s, func(t *tables.Tables, now time.Time) alerts.Reported { return t.Report(r, now) }), nil
}

// Claim implements [alerts.Post].
func (s *Store) Claim(_ context.Context, node string, evaluation uint64) (bool, error) {
	return with(s, func(t *tables.Tables, now time.Time) bool { return t.Claim(node, evaluation, now) }), nil
}

// Samples returns what has been reported, above an id and without some.
func (s *Store) Samples(_ context.Context, after int64, without []int64) ([]alerts.Sample, error) {
	return with(s, func(t *tables.Tables, _ time.Time) []alerts.Sample { return t.Samples(after, without) }), nil
}

// SetSilence sets a silence, or changes the one of its id. The error says what is wrong with it.
func (s *Store) SetSilence(_ context.Context, one alerts.Silence) error {
	if err := one.Validate(); err != nil {
		return err
	}
	with(s, func(t *tables.Tables, _ time.Time) any { t.Silence(one); return nil })
	return nil
}

// EndSilence ends a silence now, and reports whether there was one that lasted.
func (s *Store) EndSilence(_ context.Context, id string) (bool, error) {
	return with(s, func(t *tables.Tables, now time.Time) bool { return t.Unsilence(id, now) }), nil
}
