package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// How an attempt ends without success.
const (
	Failed = "failed" // its handler says so
	Lost   = "lost"   // its worker is gone
)

var (
	// ErrOver means that an attempt is over: it was given back, or another one has begun.
	ErrOver = errors.New("the attempt is over")
	// ErrUnknown means that the database does not know an operation: it was restored since that began.
	ErrUnknown = errors.New("there is no such operation")
)

// SQLSTATEs of the tables of jobs; docs/operations.md has all of conch's.
const (
	codeOver    = "CN021"
	codeUnknown = "CN022"
)

// translate turns refusals of the database into errors of this package and of fence.
func translate(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case codeOver:
		return fmt.Errorf("%w: %s", ErrOver, refused.Message)
	case codeUnknown:
		return fmt.Errorf("%w: %s", ErrUnknown, refused.Message)
	}
	return pgfence.Stale(err)
}

// Job is one attempt at a job.
type Job struct {
	ID      int64
	Attempt int
	Queue   string
	Handler []byte // JSON: {"job": name}, {"command": […]} or {"http": address}
	Args    []byte // JSON
	Timeout time.Duration
	Cron    int64     // that has made it; 0: none
	At      time.Time // its scheduled time
	Scope   string    // of the leader that has added it
	Epoch   int64
}

// Take takes up to so many jobs of some queues for a worker, whose post is the scope of the token. What it returns is committed. The error
// wraps [fence.ErrStale] if the token is over: then nothing is taken. After any other error jobs may be taken that nobody works on.
func (s *Store) Take(ctx context.Context, post fence.Token, queues []string, most int) (jobs []Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT job, attempt, queue, handler, args, extract(epoch FROM timeout)::float8, cron, at, scope, leader FROM conch.job_take($1, $2, $3, $4)`,
		queues, post.Scope, post.Epoch, most).Query(func(rows pgx.Rows) (err error) {
		jobs, err = pgx.CollectRows(rows, scanJob)
		return err
	})
	pgfence.Queue(&batch, post)
	if err := translate(s.pools.Commit(ctx, &batch)); err != nil {
		return nil, err
	}
	return jobs, nil
}

func scanJob(row pgx.CollectableRow) (j Job, err error) {
	var timeout float64
	var cron, epoch *int64
	var at *time.Time
	var scope *string
	if err := row.Scan(&j.ID, &j.Attempt, &j.Queue, &j.Handler, &j.Args, &timeout, &cron, &at, &scope, &epoch); err != nil {
		return j, err
	}
	j.Timeout = span(timeout)
	if cron != nil {
		j.Cron, j.At, j.Scope, j.Epoch = *cron, orZero(at), *scope, *epoch
	}
	return j, nil
}

// Done ends a job whose handler has no transaction of its own here. Result is JSON, or nothing. The error wraps [ErrOver] if the attempt is over.
func (s *Store) Done(ctx context.Context, job int64, attempt int, result []byte) error {
	return s.end(ctx, `SELECT conch.job_done($1, $2, $3)`, job, attempt, result)
}

// Failed ends an attempt without success, as [Failed] or [Lost]. The job is tried again after a pause, if it may be and another try may be of
// use; else it is dead. The error wraps [ErrOver] if the attempt is over.
func (s *Store) Failed(ctx context.Context, job int64, attempt int, outcome, why string, pause time.Duration, final bool) error {
	return s.end(ctx, `SELECT conch.job_failed($1, $2, $3, $4, make_interval(secs => $5), $6)`, job, attempt, outcome, why, pause.Seconds(), final)
}

// end commits one statement.
func (s *Store) end(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(sql, args...)
	return translate(s.pools.Commit(ctx, &batch))
}
