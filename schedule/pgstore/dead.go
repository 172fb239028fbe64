package pgstore

import (
	"context"
	"time"
)

// The kinds of operations on dead jobs.
const (
	Retry   = "retry"   // they are tried again
	Discard = "discard" // they stay as they are, and are dead no more
)

// Operation is something done with dead jobs: with those that are dead when it begins, each once.
type Operation struct {
	ID    [16]byte // its caller draws it; the same operation is given again under the same one
	Kind  string   // Retry or Discard
	Queue string   // empty: every one
	Jobs  []int64  // empty: all of it
}

// mostInAStep is how many dead jobs an operation takes in one transaction.
const mostInAStep = 1000

// Operate carries an operation out, or on, and returns how many jobs it has had in all. The error wraps [ErrUnknown] if the database was
// restored since it began.
func (s *Store) Operate(ctx context.Context, o Operation) (done int64, err error) {
	var queue *string
	if o.Queue != "" {
		queue = &o.Queue
	}
	if err := s.end(ctx, `INSERT INTO conch.job_operations (id, kind, queue, jobs) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, o.ID, o.Kind, queue, o.Jobs); err != nil {
		return 0, err
	}
	return s.Resume(ctx, o.ID)
}

// Resume carries an operation on that was begun, to its end.
func (s *Store) Resume(ctx context.Context, id [16]byte) (done int64, err error) {
	for {
		var ended *time.Time
		if err := s.end(ctx, `SELECT conch.dead_step($1, $2)`, id, mostInAStep); err != nil {
			return done, err
		}
		if err := s.pools.Writers.QueryRow(ctx, `SELECT done, ended_at FROM conch.job_operations WHERE id = $1`, id).Scan(&done, &ended); err != nil || ended != nil {
			return done, err
		}
	}
}
