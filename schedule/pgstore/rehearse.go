package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// warm is how many connections are kept ready: a node that dies may have had the crons and a post, and one other may get both.
const warm = 2

// KeepWarm keeps connections ready for a leader of the crons, and for a worker that gets a post, until ctx ends.
func (s *Store) KeepWarm(ctx context.Context) { s.pools.KeepWarm(ctx, warm, play) }

// Warm is how many connections are ready now and not in use.
func (s *Store) Warm() int { return s.pools.Warm() }

// play runs what a leader and a worker do first, each in its own batch as they send it, and undoes it. The fence fails, so it comes last.
func play(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	// The transaction holds locks of tables. The timeout frees them if this process freezes here.
	if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '2s'`); err != nil {
		return err
	}
	// What a dead worker has left is a job of its own here. Its number is nobody else's, and uses up none.
	token, job := fence.Token{Scope: "conch: a rehearsal"}, -1-rand.Int64N(1<<62) //nolint:gosec // it is no secret
	queue := "rehearsal" + strconv.FormatInt(job, 10)
	var begin, read, write, take, look, tell pgx.Batch
	begin.Queue(`INSERT INTO conch.jobs (id, queue, handler, args, priority, retries, timeout) OVERRIDING SYSTEM VALUE VALUES ($1, $2, '{"job": ""}', '{}', 0, 1, '1s')`, job, queue)
	begin.Queue(`SELECT conch.job_start($1, 1, now(), NULL)`, job)
	queueRead(&read, schedule.Read{Known: 1<<63 - 1}, 0, new(schedule.Loaded), func(row pgx.Row) error {
		_, err := new(Server).scan(row)
		return err
	})
	queueTake(&take, token, []string{queue}, schedule.Take{Most: 1}, new(schedule.Taken))
	queueLook(&look, token.Scope, new([]schedule.Held))
	queueTell(&tell, []schedule.End{{Key: schedule.Key{ID: job, Attempt: 1}, Outcome: worker.Lost}}, new(schedule.Told))
	if err := queueWrite(&write, token, schedule.Write{}, new(schedule.Written)); err != nil {
		return err
	}
	for _, one := range []*pgx.Batch{&begin, &read, &write, &take, &look, &tell} {
		if err := tx.SendBatch(ctx, one).Close(); err != nil {
			return err
		}
	}
	var fenced pgx.Batch
	pgfence.Queue(&fenced, token)
	if err := pgfence.Stale(tx.SendBatch(ctx, &fenced).Close()); !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("the fence did not refuse the rehearsal: %w", err)
	}
	return nil
}
