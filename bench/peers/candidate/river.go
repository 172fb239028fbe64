//go:build !one || river

package candidate

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// riverArgs is a job that is never inserted.
type riverArgs struct{}

// Kind names it.
func (riverArgs) Kind() string { return "bench" }

type riverWorker struct {
	riverqueue.WorkerDefaults[riverArgs]
}

// Work is never called.
func (*riverWorker) Work(context.Context, *riverqueue.Job[riverArgs]) error { return nil }

var _ = enter("river", river)

// river is a River client. Its elector's intervals cannot be set from outside, so it has no tuned
// variant. The leader enqueues the periodic jobs: only the process that believes it leads calls a
// job's constructor, which acts here and inserts no job.
func river(ctx context.Context, cfg Config, o *outside) error {
	pool, err := pgxpool.New(ctx, cfg.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorker(workers, &riverWorker{})
	periodic := riverqueue.NewPeriodicJob(riverqueue.PeriodicInterval(cfg.Pace), func() (riverqueue.JobArgs, *riverqueue.InsertOpts) {
		_ = o.act() // a missing line shows
		return nil, nil
	}, &riverqueue.PeriodicJobOpts{RunOnStart: true})
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{
		ID: cfg.ID, Workers: workers, PeriodicJobs: []*riverqueue.PeriodicJob{periodic},
		Queues: map[string]riverqueue.QueueConfig{riverqueue.QueueDefault: {MaxWorkers: 1}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return client.Stop(stopping)
}
