package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
)

var _ schedule.Jobs = (*Store)(nil)

// ErrUnknown means that the database does not know an operation: it was restored since that began.
var ErrUnknown = errors.New("there is no such operation")

// codeUnknown is the SQLSTATE of an operation that is not known; docs/operations.md has all of conch's.
const codeUnknown = "CN022"

// translate turns refusals of the database into errors of this package and of fence.
func translate(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == codeUnknown {
		return fmt.Errorf("%w: %s", ErrUnknown, refused.Message)
	}
	return pgfence.Stale(err)
}

// Take implements [schedule.Jobs]. After an error jobs may be taken that nobody works on.
func (s *Store) Take(ctx context.Context, post fence.Token, queues []string, t schedule.Take) (out schedule.Taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	queueTake(&batch, post, queues, t, &out)
	pgfence.Queue(&batch, post)
	if err := translate(s.pools.Commit(ctx, &batch)); err != nil {
		return schedule.Taken{}, err
	}
	return out, nil
}

func queueTake(batch *pgx.Batch, post fence.Token, queues []string, t schedule.Take, out *schedule.Taken) {
	var since any = "-infinity"
	if !t.Since.IsZero() {
		since = t.Since
	}
	kinds := []string{}
	for _, k := range t.Kinds {
		kinds = append(kinds, k[:1]) // as conch.job_kind says it
	}
	if t.Kinds == nil {
		kinds = []string{"c", "h", "j"}
	}
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT job, attempt, queue, due, handler, args, extract(epoch FROM timeout)::float8, cron, at, scope, leader, fenced, maybe_repeated
		FROM conch.job_take($1, $2, $3, $4, $5, $6::text[]::"char"[], $7)`,
		queues, post.Scope, post.Epoch, t.Most, since, kinds, t.Fenced).Query(func(rows pgx.Rows) (err error) {
		out.Jobs, err = pgx.CollectRows(rows, scanJob)
		return err
	})
	batch.Queue(`SELECT extract(epoch FROM (SELECT run_at FROM conch.job_later ORDER BY run_at LIMIT 1) - clock_timestamp())::float8`).QueryRow(func(row pgx.Row) error {
		var next *float64
		if err := row.Scan(&next); err != nil || next == nil {
			return err
		}
		out.Next = max(span(*next), time.Millisecond)
		return nil
	})
}

func scanJob(row pgx.CollectableRow) (j schedule.Job, err error) {
	var timeout float64
	var cron, scope *string
	var epoch *int64
	var at *time.Time
	if err := row.Scan(&j.ID, &j.Attempt, &j.Queue, &j.Due, &j.Handler, &j.Args, &timeout, &cron, &at, &scope, &epoch, &j.Fenced, &j.MaybeRepeated); err != nil {
		return j, err
	}
	j.Timeout, j.Due = span(timeout), j.Due.UTC()
	if cron != nil {
		j.Cron, j.At, j.Scope, j.Epoch = *cron, orZero(at), *scope, *epoch
	}
	return j, nil
}

// Look implements [schedule.Jobs].
func (s *Store) Look(ctx context.Context, post string, progress map[schedule.Key]string) (all []schedule.Held, err error) {
	var jobs []int64
	var attempts []int
	var texts []string
	for k, text := range progress {
		jobs, attempts, texts = append(jobs, k.ID), append(attempts, k.Attempt), append(texts, readable(text))
	}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	if len(jobs) > 0 {
		batch.Queue(`SELECT conch.job_progress($1, $2, $3)`, jobs, attempts, texts)
	}
	queueLook(&batch, post, &all)
	return all, s.pools.Commit(ctx, &batch)
}

func queueLook(batch *pgx.Batch, post string, all *[]schedule.Held) {
	batch.Queue(`
		SELECT t.job, t.attempt, t.epoch, j.fenced, t.cancel FROM conch.job_taken t JOIN conch.jobs j ON j.id = t.job WHERE t.post = $1 ORDER BY t.job`, post).Query(func(rows pgx.Rows) (err error) {
		*all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h schedule.Held, err error) {
			return h, row.Scan(&h.ID, &h.Attempt, &h.Epoch, &h.Fenced, &h.Cancel)
		})
		return err
	})
}

// Tell implements [schedule.Jobs]. If somebody holds a lane in a transaction of his own, the attempts are ended one by one: that one waits, and no other.
func (s *Store) Tell(ctx context.Context, ends []schedule.End) (schedule.Told, error) {
	out, err := s.tell(ctx, ends)
	var refused *pgconn.PgError
	if len(ends) == 1 || !errors.As(err, &refused) || refused.Code != lockNotAvailable && refused.Code != deadlock {
		return out, err
	}
	for i, e := range ends {
		one, err := s.tell(ctx, ends[i:i+1])
		switch {
		case err == nil:
			out.Held, out.Over = append(out.Held, one.Held...), append(out.Over, one.Over...)
		case !errors.As(err, &refused):
			return schedule.Told{}, err
		default:
			out.Held = append(out.Held, e.Key)
		}
	}
	return out, nil
}

// deadlock is what one of two transactions fails with that wait for each other.
const deadlock = "40P01"

func (s *Store) tell(ctx context.Context, ends []schedule.End) (out schedule.Told, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	queueTell(&batch, ends, &out)
	if err := translate(s.pools.Commit(ctx, &batch)); err != nil {
		return schedule.Told{}, err
	}
	return out, nil
}

func queueTell(batch *pgx.Batch, ends []schedule.End, out *schedule.Told) {
	var jobs []int64
	var attempts []int
	var outcomes []string
	var errs, results []*string
	var pauses []float64
	for _, e := range ends {
		jobs, attempts, outcomes, pauses = append(jobs, e.ID), append(attempts, e.Attempt), append(outcomes, e.Outcome), append(pauses, e.Pause.Seconds())
		errs, results = append(errs, orNull(readable(e.Error))), append(results, orNull(string(e.Result)))
	}
	batch.Queue(durableHasty)
	batch.Queue(`SELECT job, attempt, held FROM conch.job_end($1, $2, $3, $4, $5::json[], $6)`, jobs, attempts, outcomes, errs, results, pauses).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var k schedule.Key
			var held bool
			if err := rows.Scan(&k.ID, &k.Attempt, &held); err != nil {
				return err
			}
			if held {
				out.Held = append(out.Held, k)
			} else {
				out.Over = append(out.Over, k)
			}
		}
		return rows.Err()
	})
}

// end commits one statement.
func (s *Store) end(ctx context.Context, sql string, args ...any) error {
	return s.commit(ctx, nil, sql, args...)
}

// commit commits one statement, and reads the row that it returns.
func (s *Store) commit(ctx context.Context, scan func(pgx.Row) error, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	if one := batch.Queue(sql, args...); scan != nil {
		one.QueryRow(scan)
	}
	return translate(s.pools.Commit(ctx, &batch))
}

// ListenJobs tells of queues that may have jobs, due from an instant on, on its own connection, until ctx ends. The zero instant says that they may have been due
// at any time, and an empty queue that words of it may have been lost.
func (s *Store) ListenJobs(ctx context.Context, woken func(queue string, since time.Time)) error {
	return pg.Listen(ctx, s.at, []string{"conch_job"}, pg.ListenFuncs{
		Up: func() { woken("", time.Time{}) }, Notify: func(_, payload string) { woken(told(payload)) },
	})
}

// told reads what conch.job_word has written.
func told(payload string) (queue string, since time.Time) {
	at, queue, _ := strings.Cut(payload, " ")
	if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
		since = time.Unix(seconds, 0)
	}
	return queue, since
}

// readable is a text as Postgres can store it.
func readable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
