package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/schedule"
)

// ErrNotFound means that there is no such cron, job or operation.
var ErrNotFound = errors.New("it is not there")

// Listed is a cron as people see it: by its newest revision.
type Listed struct {
	schedule.Cron
	ID      int64
	Filed   bool      // a configuration file has declared it
	Since   time.Time // of the revision
	By      string    // who has written that
	Settled time.Time // up to where its times are settled; zero: nobody has led yet
	Adopted bool      // a leader has adopted the revision
	Last    *Past     // its newest time; nil: none
}

// Past is a scheduled time that was run or skipped, or a time that a user has run by hand.
type Past struct {
	At      time.Time
	Outcome string // enqueued, skipped, or existing: it had a row already
	Job     int64  // its job; if it was skipped, the one because of which
	Epoch   int64  // of the leader; 0: by hand
	Decided time.Time
	Ended   string // how the last attempt at its job has ended, one of schedule.Ends; empty: none has, or it is not known any more
}

// Crons lists crons in the order of their names: the one of a name, or up to so many after another one.
func (s *Store) Crons(ctx context.Context, name, after string, most int) ([]Listed, error) {
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT c.id, c.filed, c.adopted = c.newest, c.cursor_at, v.definition, v.since, v.by, r.at, r.outcome, r.job, r.epoch, r.decided_at
		  FROM conch.crons c JOIN conch.cron_revisions v ON v.cron = c.id AND v.n = c.newest
		  LEFT JOIN LATERAL (SELECT * FROM conch.cron_runs r WHERE r.cron = c.id ORDER BY r.at DESC LIMIT 1) r ON true
		 WHERE NOT c.retired AND ($1 = '' OR c.name = $1) AND c.name > $2 ORDER BY c.name LIMIT $3`, name, after, most)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Listed, err error) {
		var raw []byte
		var settled, at, decided *time.Time
		var outcome *string
		var job, epoch *int64
		if err := row.Scan(&l.ID, &l.Filed, &l.Adopted, &settled, &raw, &l.Since, &l.By, &at, &outcome, &job, &epoch, &decided); err != nil {
			return l, err
		}
		if at != nil {
			l.Last = &Past{At: orZero(at), Outcome: *outcome, Job: *job, Epoch: *epoch, Decided: orZero(decided)}
		}
		l.Since, l.Settled = l.Since.UTC(), orZero(settled)
		return l, decode(raw, &l.Cron)
	})
}

// Past lists of each of some crons the newest times before an instant, up to so many.
func (s *Store) Past(ctx context.Context, crons []int64, before time.Time, most int) (map[int64][]Past, error) {
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT r.cron, r.at, r.outcome, r.job, r.epoch, r.decided_at, coalesce(a.outcome, '')
		  FROM pg_catalog.unnest($1::bigint[]) AS c(id)
		  JOIN LATERAL (SELECT * FROM conch.cron_runs r WHERE r.cron = c.id AND r.at < $2 ORDER BY r.at DESC LIMIT $3) r ON true
		  LEFT JOIN LATERAL (SELECT a.outcome FROM conch.job_attempts a WHERE a.job = r.job AND r.outcome = 'enqueued' ORDER BY a.attempt DESC LIMIT 1) a ON true
		 ORDER BY r.cron, r.at DESC`, crons, before, most)
	if err != nil {
		return nil, err
	}
	all := map[int64][]Past{}
	var cron int64
	var p Past
	_, err = pgx.ForEachRow(rows, []any{&cron, &p.At, &p.Outcome, &p.Job, &p.Epoch, &p.Decided, &p.Ended}, func() error {
		p.At, p.Decided = p.At.UTC(), p.Decided.UTC()
		all[cron] = append(all[cron], p)
		return nil
	})
	return all, err
}

// Gaps lists the newest times of a cron before an instant that were passed over.
func (s *Store) Gaps(ctx context.Context, cron int64, before time.Time, most int) ([]schedule.Gap, error) {
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT from_at, to_at, count, why FROM conch.cron_gaps WHERE cron = $1 AND from_at < $2 ORDER BY from_at DESC LIMIT $3`, cron, before, most)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (g schedule.Gap, err error) {
		err = row.Scan(&g.From, &g.To, &g.Count, &g.Why)
		g.From, g.To = g.From.UTC(), g.To.UTC()
		return g, err
	})
}
