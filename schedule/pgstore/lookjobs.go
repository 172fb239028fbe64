package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// The states of a job that has not ended, by the table that has its row.
const (
	Ready   = "ready"   // a worker may take it
	Later   = "later"   // it begins later, or is tried again then
	Waiting = "waiting" // another job of its lane has not ended
	Taken   = "taken"   // a worker has it
	Dead    = "dead"    // it has failed as often as it may
)

// States lists them.
func States() []string { return []string{Ready, Later, Waiting, Taken, Dead} }

// Record is a job as people see it.
type Record struct {
	ID       int64
	State    string // one of States; or how it has ended: done, cancelled or discarded
	Attempt  int    // that is next or at work, or was the last one
	Queue    string
	Handler  []byte // JSON: {"job": name}, {"command": […]} or {"http": address}
	Args     []byte // JSON; nil in a list
	Priority int
	Retries  int
	Timeout  time.Duration
	Lane     string
	Key      string
	Cron     string    // that has made it; empty: none
	At       time.Time // its scheduled time
	Moment   time.Time // when it begins, has begun, died or ended
	Post     string    // of the worker that has it, or had it last
	Created  time.Time
	By       string
	Why      string // it has failed last

	Cancelling bool   // somebody wants an attempt that is under way to end
	Progress   string // of that attempt, as its handler says
}

// JobFilter says which jobs are listed.
type JobFilter struct {
	State  string // empty: all
	Queue  string // empty: all
	Before int64  // only those with a lower id; 0: all
	Most   int
}

// everyState has the row of each job that has not ended.
const everyState = `
	SELECT job, attempt, 'ready' AS state, due AS moment, NULL AS post, NULL AS why, false AS cancel, NULL AS progress FROM conch.job_ready
	UNION ALL SELECT job, attempt, 'later', run_at, NULL, NULL, false, NULL FROM conch.job_later
	UNION ALL SELECT job, attempt, 'waiting', run_at, NULL, NULL, false, NULL FROM conch.job_waiting
	UNION ALL SELECT job, attempt, 'taken', at, post, NULL, cancel, progress FROM conch.job_taken
	UNION ALL SELECT job, attempt, 'dead', died_at, NULL, why, false, NULL FROM conch.job_dead`

// columns are what a Record has of a job j, its state o and its last attempt l. A job without a state has ended.
const columns = `j.id, coalesce(o.state, CASE WHEN l.outcome IN ('done', 'cancelled') THEN l.outcome ELSE 'discarded' END),
	coalesce(o.attempt, l.attempt, 0), j.queue, j.handler, j.priority, j.retries, extract(epoch FROM j.timeout)::float8,
	coalesce(j.lane, ''), coalesce(j.key, ''), coalesce(c.name, ''), j.at, coalesce(o.moment - CASE o.state WHEN 'ready' THEN conch.job_wait(j.priority) ELSE '0' END, l.ended), coalesce(o.post, l.post, ''),
	j.created_at, j.by, coalesce(o.why, l.error, ''),
	coalesce(o.cancel, false), coalesce(o.progress, '')
	FROM conch.crons c RIGHT JOIN shown j ON c.id = j.cron
	LEFT JOIN LATERAL (SELECT * FROM conch.job_attempts a WHERE a.job = j.id ORDER BY a.attempt DESC LIMIT 1) l ON true`

// Jobs lists jobs, the newest first. Those that have ended are only in a list of all.
func (s *Store) Jobs(ctx context.Context, f JobFilter) ([]Record, error) {
	sql := `WITH shown AS (SELECT * FROM conch.jobs WHERE ($1 = 0 OR id < $1) AND ($2 = '' OR queue = $2) ORDER BY id DESC LIMIT $3)
		SELECT NULL::json, ` + columns + ` LEFT JOIN (` + everyState + `) o ON o.job = j.id ORDER BY j.id DESC`
	args := []any{f.Before, f.Queue, f.Most}
	if f.State != "" {
		sql = `WITH o AS MATERIALIZED (SELECT o.* FROM (` + everyState + `) o JOIN conch.jobs j ON j.id = o.job
			WHERE o.state = $4 AND ($1 = 0 OR o.job < $1) AND ($2 = '' OR j.queue = $2) ORDER BY o.job DESC LIMIT $3),
			shown AS (SELECT j.* FROM conch.jobs j JOIN o ON o.job = j.id)
			SELECT NULL::json, ` + columns + ` JOIN o ON o.job = j.id ORDER BY j.id DESC`
		args = append(args, f.State)
	}
	rows, err := s.pools.Readers.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRecord)
}

// Record returns one job with its arguments and its attempts, the first one first.
func (s *Store) Record(ctx context.Context, id int64) (r Record, all []Attempt, err error) {
	rows, err := s.pools.Readers.Query(ctx, `WITH shown AS (SELECT * FROM conch.jobs WHERE id = $1)
		SELECT j.args, `+columns+` LEFT JOIN (`+everyState+`) o ON o.job = j.id`, id)
	if err != nil {
		return r, nil, err
	}
	found, err := pgx.CollectRows(rows, scanRecord)
	switch {
	case err != nil:
		return r, nil, err
	case len(found) == 0:
		return r, nil, ErrNotFound
	}
	rows, err = s.pools.Readers.Query(ctx, `SELECT attempt, outcome, post, began, ended, coalesce(error, ''), result FROM conch.job_attempts WHERE job = $1 ORDER BY attempt`, id)
	if err != nil {
		return r, nil, err
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Attempt, err error) {
		err = row.Scan(&a.N, &a.Outcome, &a.Post, &a.Began, &a.Ended, &a.Error, &a.Result)
		a.Began, a.Ended = a.Began.UTC(), a.Ended.UTC()
		return a, err
	})
	return found[0], all, err
}

// Attempt is one that has ended.
type Attempt struct {
	N       int
	Outcome string // done; failed or dead; lost or released; later or cancelled
	Post    string // of its worker
	Began   time.Time
	Ended   time.Time
	Error   string
	Result  []byte // JSON; nil: none
}

func scanRecord(row pgx.CollectableRow) (r Record, err error) {
	var timeout float64
	var at, moment *time.Time
	err = row.Scan(&r.Args, &r.ID, &r.State, &r.Attempt, &r.Queue, &r.Handler, &r.Priority, &r.Retries, &timeout,
		&r.Lane, &r.Key, &r.Cron, &at, &moment, &r.Post, &r.Created, &r.By, &r.Why, &r.Cancelling, &r.Progress)
	r.Timeout, r.At, r.Moment, r.Created = span(timeout), orZero(at), orZero(moment), r.Created.UTC()
	return r, err
}

// Depth is how many jobs of a queue are in a state.
type Depth struct {
	Queue string
	State string
	N     int
	Wait  time.Duration // of the first one that a worker may take; 0: none waits
}

// RecentJobs is how many jobs [Store.Unused] looks at.
const RecentJobs = 10_000

// Unused returns those of some queues of which none of the newest jobs is.
func (s *Store) Unused(ctx context.Context, queues []string) ([]string, error) {
	if len(queues) == 0 {
		return nil, nil
	}
	rows, err := s.pools.Readers.Query(ctx, `SELECT q.queue FROM pg_catalog.unnest($1::text[]) AS q(queue)
		EXCEPT SELECT j.queue FROM (SELECT queue FROM conch.jobs ORDER BY id DESC LIMIT $2) j ORDER BY 1`, queues, RecentJobs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Depths counts the jobs that have not ended.
func (s *Store) Depths(ctx context.Context) ([]Depth, error) {
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT queue, 'ready', count(*), greatest(extract(epoch FROM now() - min(due)), 0)::float8 FROM conch.job_ready GROUP BY queue
		UNION ALL
		SELECT j.queue, o.state, count(*), 0 FROM (`+everyState+`) o JOIN conch.jobs j ON j.id = o.job WHERE o.state <> 'ready' GROUP BY j.queue, o.state`)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Depth, err error) {
		var wait float64
		err = row.Scan(&d.Queue, &d.State, &d.N, &wait)
		d.Wait = span(wait)
		return d, err
	})
	slices.SortFunc(all, func(a, b Depth) int { return slices.Compare([]string{a.Queue, a.State}, []string{b.Queue, b.State}) })
	return all, err
}
