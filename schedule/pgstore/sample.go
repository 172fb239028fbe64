package pgstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// Sample is a figure of conch itself at an instant. Its name begins with conch_.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// SampleSlot says when samples are written, and for how long all samples are kept.
type SampleSlot struct {
	Every time.Duration // the length of a slot
	Keep  time.Duration
	Now   time.Time // by the clock of this process: what one of the two clocks calls young stays
}

// mostSamples is how many samples are deleted in one transaction.
const mostSamples = 5000

// PutSamples writes the samples of the slot that it is now by the database's clock, unless the slot has its own, and deletes some that are too
// old. It returns how many it has written, and how long the slot lasts. The error wraps [fence.ErrStale] if the token is over: then nothing has
// happened.
func (s *Store) PutSamples(ctx context.Context, t fence.Token, slot SampleSlot, all []Sample) (written int, rest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names, labels, values := make([]string, len(all)), make([]string, len(all)), make([]float64, len(all))
	for i, one := range all {
		text, err := json.Marshal(one.Labels)
		if err != nil {
			return 0, 0, err
		}
		if names[i], labels[i], values[i] = one.Name, string(text), one.Value; one.Labels == nil {
			labels[i] = "{}"
		}
	}
	var seconds float64
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT written, extract(epoch FROM rest)::float8
		  FROM conch.sample_put(make_interval(secs => $1), make_interval(secs => $2), $3, $4, $5, $6::text[]::jsonb[], $7, $8)`,
		slot.Every.Seconds(), slot.Keep.Seconds(), slot.Now, t.Epoch, names, labels, values, mostSamples).QueryRow(func(row pgx.Row) error {
		return row.Scan(&written, &seconds)
	})
	pgfence.Queue(&batch, t)
	if err := translate(s.pools.Commit(ctx, &batch)); err != nil {
		return 0, 0, err
	}
	return written, span(seconds), nil
}

// NewestSample returns when the slot begins that was written last, and what the database's clock says; zero: none was ever written.
func (s *Store) NewestSample(ctx context.Context) (at, now time.Time, err error) {
	var found *time.Time
	err = s.pools.Readers.QueryRow(ctx, `SELECT (SELECT at FROM conch.sample WHERE epoch IS NOT NULL ORDER BY id DESC LIMIT 1), now()`).Scan(&found, &now)
	return orZero(found), now.UTC(), err
}

// PassedOver counts the scheduled times that were passed over within a span up to now, by why; 10,000 of one gap stand for more.
func (s *Store) PassedOver(ctx context.Context, within time.Duration) (map[string]int, error) {
	rows, err := s.pools.Readers.Query(ctx, `SELECT why, sum(count)::bigint FROM conch.cron_gaps WHERE noted_at > now() - make_interval(secs => $1) GROUP BY why`, within.Seconds())
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	var why string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&why, &n}, func() error {
		counts[why] = n
		return nil
	})
	return counts, err
}
