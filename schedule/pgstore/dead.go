package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
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
	By    string   // who asks for it; empty: the database's user
}

// mostInAStep is how many dead jobs an operation takes in one transaction.
const mostInAStep = 1000

// Operate carries an operation out, or on, and returns how many jobs it has had in all. The error wraps [ErrUnknown] if the database was
// restored since it began.
func (s *Store) Operate(ctx context.Context, o Operation) (done int64, err error) {
	if err := s.end(ctx, `INSERT INTO conch.job_operations (id, kind, queue, jobs, by) VALUES ($1, $2, nullif($3, ''), $4, coalesce(nullif($5, ''), current_user))
		ON CONFLICT DO NOTHING`, o.ID, o.Kind, o.Queue, o.Jobs, o.By); err != nil {
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

// Carried is how far an operation is.
type Carried struct {
	Operation
	Begun time.Time
	Done  int64     // jobs
	Ended time.Time // zero: it has not
}

// Operation looks an operation up. The error is [ErrNotFound] if there is none.
func (s *Store) Operation(ctx context.Context, id [16]byte) (c Carried, err error) {
	var ended *time.Time
	c.ID = id
	err = s.pools.Readers.QueryRow(ctx, `SELECT kind, coalesce(queue, ''), jobs, by, cut_off, done, ended_at FROM conch.job_operations WHERE id = $1`, id).
		Scan(&c.Kind, &c.Queue, &c.Jobs, &c.By, &c.Begun, &c.Done, &ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, ErrNotFound
	}
	c.Begun, c.Ended = c.Begun.UTC(), orZero(ended)
	return c, err
}
