package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/zone"
)

// ErrSpan means that times cannot be run by hand.
var ErrSpan = errors.New("these times cannot be run by hand")

// Pause pauses a cron, or lets it go on, by a revision. It does nothing if that is so already.
func (s *Store) Pause(ctx context.Context, name string, paused bool, by string) error {
	return s.revise(ctx, name, func(tx pgx.Tx, c standing) error {
		if c.Paused == paused {
			return nil
		}
		c.Paused = paused
		text, err := json.Marshal(asRow(c.Definition))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT conch.cron_revise($1, $2, false, $3, $4)`, name, text, c.filed, by)
		return err
	})
}

// standing is a cron by its newest revision, in a transaction that has locked it.
type standing struct {
	core.Definition
	id    int64
	n     int
	filed bool
	since time.Time
	floor time.Time
	now   time.Time
}

// revise does something with a cron that nobody else changes meanwhile.
func (s *Store) revise(ctx context.Context, name string, do func(pgx.Tx, standing) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.durably(ctx, func(tx pgx.Tx) error {
		var c standing
		var raw []byte
		var floor *time.Time
		err := tx.QueryRow(ctx, `SELECT id, newest, filed, floor_at, now() FROM conch.crons WHERE name = $1 AND NOT retired FOR UPDATE`, name).Scan(&c.id, &c.n, &c.filed, &floor, &c.now)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err == nil {
			err = tx.QueryRow(ctx, `SELECT definition, since FROM conch.cron_revisions WHERE cron = $1 AND n = $2`, c.id, c.n).Scan(&raw, &c.since)
		}
		if err == nil {
			err = decode(raw, &c.Definition)
		}
		if err != nil {
			return err
		}
		c.floor, c.now = orZero(floor), c.now.UTC()
		return do(tx, c)
	})
}

// mostByHand is how many times of a cron are run by hand at once.
const mostByHand = 1000

// RunNow gives a cron a job now, or, if from is not zero, one for each of its scheduled times of a span that has no row yet. What it runs waits for
// the cron's other jobs unless they may overlap, however many wait. It returns what has become of each time. The error wraps [ErrSpan] if
// nothing can be run, and says why.
func (s *Store) RunNow(ctx context.Context, name string, from, to time.Time) (all []Past, err error) {
	err = s.revise(ctx, name, func(tx pgx.Tx, c standing) error {
		times, err := c.times(from, to)
		if err != nil {
			return err
		}
		if c.Overlap != schedule.Allow {
			c.Overlap, c.Waits = schedule.Queue, 1<<30
		}
		text, err := json.Marshal(asRow(c.Definition))
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT r.at_, r.outcome, r.job_, 0::bigint, now()
			  FROM (SELECT at, nextval('conch.jobs_id_seq') AS job FROM unnest($2::timestamptz[]) WITH ORDINALITY u(at, i) ORDER BY i) t,
			       LATERAL conch.cron_run($1, t.at, $3, now(), $4, t.job, '', 0) r`, c.id, times, c.n, text)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Past, err error) {
			err = row.Scan(&p.At, &p.Outcome, &p.Job, &p.Epoch, &p.Decided)
			p.At, p.Decided = p.At.UTC(), p.Decided.UTC()
			return p, err
		})
		return err
	})
	return all, err
}

// times lists the scheduled times of a span.
func (c standing) times(from, to time.Time) (all []time.Time, err error) {
	switch {
	case from.IsZero():
		return []time.Time{c.now}, nil
	case to.Before(from):
		return nil, fmt.Errorf("%w: the span ends before it begins", ErrSpan)
	case to.After(c.now):
		return nil, fmt.Errorf("%w: the span ends at %s, and now it is %s: what comes the leader runs", ErrSpan, to.UTC().Format(time.RFC3339), c.now.Format(time.RFC3339))
	case !from.After(c.floor):
		return nil, fmt.Errorf("%w: the rows of its times up to %s were deleted, so that nobody knows what was run", ErrSpan, c.floor.Format(time.RFC3339))
	}
	plan, err := zone.Parse(c.Schedule, c.Timezone, c.since)
	if err != nil {
		return nil, err
	}
	for at := from.Add(-time.Microsecond); ; {
		next, is := plan.Next(at)
		if !is || next.At.After(to) {
			break
		}
		if at = next.At; len(all) == mostByHand {
			return nil, fmt.Errorf("%w: there are more than %d from %s on: take a shorter span, and then the next one", ErrSpan, mostByHand, from.UTC().Format(time.RFC3339))
		}
		all = append(all, at)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: none is scheduled then", ErrSpan)
	}
	return all, nil
}

// Addition is a job to be added. What is zero has the default of conch.job_add, but for the priority.
type Addition struct {
	Queue    string
	Handler  string // the name of one
	Args     string // JSON
	RunAt    time.Time
	Priority int
	Lane     string
	Key      string
	Retries  int
	Timeout  time.Duration
}

// Add adds a job, and returns its id; of one whose key another job has that has not ended, that one's.
func (s *Store) Add(ctx context.Context, a Addition) (id int64, err error) {
	err = s.durably(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT conch.job_add($1, $2, $3, run_at => $4, priority => $5, lane => nullif($6, ''), key => nullif($7, ''), retries => $8, timeout => make_interval(secs => $9))`,
			a.Queue, a.Handler, a.Args, orNil(a.RunAt), a.Priority, a.Lane, a.Key, a.Retries, a.Timeout.Seconds()).Scan(&id)
	})
	return id, err
}

// Cancel ends a job that is not at work. It returns the state in which the job was: one that is [Taken] is stopped by its worker, and not tried
// again; empty: it has ended, or is dead.
func (s *Store) Cancel(ctx context.Context, id int64, why string) (was string, err error) {
	var word *string
	err = s.durably(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT conch.job_cancel($1, $2)`, id, why).Scan(&word)
	})
	if word != nil {
		was = *word
	}
	return was, err
}

// Hurry has a job that begins later begin now, and reports whether there was one.
func (s *Store) Hurry(ctx context.Context, id int64) (did bool, err error) {
	err = s.durably(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			WITH gone AS (DELETE FROM conch.job_later WHERE job = $1 RETURNING job, attempt)
			SELECT conch.job_start(g.job, g.attempt, now(), NULL) FROM gone g`, id)
		did = err == nil && tag.RowsAffected() > 0
		return err
	})
	return did, err
}

// Listen calls changed for each cron that somebody has changed, on its own connection, until ctx ends. After each connecting, also again, it calls
// missed: notifications may be lost.
func (s *Store) Listen(ctx context.Context, changed func(cron int64), missed func()) error {
	return pg.Listen(ctx, s.at, []string{"conch_cron"}, pg.ListenFuncs{Up: missed, Notify: func(_, payload string) {
		var id int64
		if _, err := fmt.Sscan(payload, &id); err == nil { // any role may notify on any channel
			changed(id)
		}
	}})
}
