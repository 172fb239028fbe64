// Package riverq hands jobs to a River that a user has, for those whose handlers are River's workers already.
//
// A worker takes jobs of one queue, as with any other handler, and calls [Forward] for each. Its insertion into River and its end here are one
// transaction: so each scheduled time of a cron becomes one job of River, and a worker that was replaced inserts nothing.
//
// # What it does not promise
//
// Once a job is River's, River's rules hold, and they are weaker:
//
//   - a worker that was frozen and wakes up marks its job completed while another attempt is at work, whose failure is then discarded;
//   - the job of a worker that was killed is back after an hour, or what RescueStuckJobsAfter says, and never at once;
//   - two jobs of one cron may be at work at the same time: overlap is judged here, where the job has ended when it was handed over. Timeouts and
//     retries are River's too, and what dies there is not in conch.job_dead;
//   - River elects a leader of its own, for retries and rescues, and between two of them nobody does that.
//
// Where an effect and the end of its attempt have to be one, use conch.job_done in the handler's transaction instead.
package riverq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"github.com/conchhq/conch/schedule/pgstore"
)

// Database is a connection to the database, or a pool of them. River's tables are in the same one.
type Database interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// args are the arguments of a job as they are. Its kind is the name of the handler.
type args struct {
	name string
	text json.RawMessage
}

func (a args) Kind() string                 { return a.name }
func (a args) MarshalJSON() ([]byte, error) { return a.text, nil }

// Forward inserts an attempt's job into River, where its kind is the job's name and its arguments are the same, and ends it here. The error wraps
// [pgstore.ErrOver] if the attempt is over: then nothing is inserted. After any other error the attempt goes on, or the job is River's.
func Forward(ctx context.Context, db Database, client *river.Client[pgx.Tx], job pgstore.Job, opts *river.InsertOpts) error {
	var handler struct{ Job string }
	if err := json.Unmarshal(job.Handler, &handler); err != nil || handler.Job == "" {
		return fmt.Errorf("riverq: job %d is handled by %s, and River takes what names a job", job.ID, job.Handler)
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := client.InsertTx(ctx, tx, args{handler.Job, job.Args}, opts); err != nil {
			return fmt.Errorf("riverq: job %d: %w", job.ID, err)
		}
		_, err := tx.Exec(ctx, `SELECT conch.job_done($1, $2)`, job.ID, job.Attempt)
		if refused, is := errors.AsType[*pgconn.PgError](err); is && refused.Code == over {
			return fmt.Errorf("riverq: %w: %s", pgstore.ErrOver, refused.Message)
		}
		return err
	})
}

// over is what conch.job_done raises.
const over = "CN021"
