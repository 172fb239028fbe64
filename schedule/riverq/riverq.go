// Package riverq hands jobs to a River that a user has, for those whose handlers are River's workers already.
//
// A worker takes such jobs as any others, and has [Handler] for them. Its insertion into River and the job's end here are one transaction: so each
// scheduled time of a cron becomes one job of River, and a worker that was replaced inserts nothing.
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
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/conchhq/conch/schedule"
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

// Handler returns the handler of jobs that are to be River's. There, their kind is the job's name and their arguments are the same. An attempt that is
// over inserts nothing, and fails.
func Handler(db Database, client *river.Client[pgx.Tx], opts *river.InsertOpts) schedule.Handler {
	return func(ctx context.Context, t *schedule.Task) ([]byte, error) {
		var handler struct{ Job string }
		if err := json.Unmarshal(t.Handler, &handler); err != nil || handler.Job == "" {
			return nil, fmt.Errorf("job %d is handled by %s, and River takes what names a job", t.ID, t.Handler)
		}
		return nil, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			_, err := client.InsertTx(ctx, tx, args{handler.Job, t.Args}, opts)
			if err == nil {
				_, err = tx.Exec(ctx, `SELECT conch.job_done($1, $2)`, t.ID, t.Attempt)
			}
			return err
		})
	}
}
