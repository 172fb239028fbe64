package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
)

var _ schedule.Trimmer = (*Store)(nil)

// mostTrimmed is how many rows of a kind are deleted in one transaction.
const mostTrimmed = 1000

// Trim implements [schedule.Trimmer].
func (s *Store) Trim(ctx context.Context, t fence.Token, before time.Time, after int64) (done schedule.Trimmed, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var most int
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT ended, runs, others, gone, upto FROM conch.schedule_trim($1, $2, $3)`, before, after, mostTrimmed).QueryRow(func(row pgx.Row) error {
		return row.Scan(&done.Jobs, &done.Runs, &done.Others, &most, &done.Next)
	})
	pgfence.Queue(&batch, t)
	if err := translate(s.pools.Commit(ctx, &batch)); err != nil {
		return schedule.Trimmed{}, err
	}
	done.More = done.Next > 0 || most >= mostTrimmed
	return done, nil
}
