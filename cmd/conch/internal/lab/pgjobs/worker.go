package pgjobs

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// Worker takes the jobs of a queue.
type Worker struct {
	Queue  string
	Slots  int                 // jobs that it has at a time
	Handle func() error        // does a job; nil: there is nothing to do
	Ended  func()              // an attempt has ended; may be nil
	Took   func(time.Duration) // a take has found jobs, and took so long; may be nil
}

// Start takes jobs under a post, over connections of its own, until stop is called.
func (w Worker) Start(ctx context.Context, url string, gate *fence.Gate) (stop func(), err error) {
	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 4)
	if err != nil {
		return nil, err
	}
	handle := func(context.Context, *schedule.Task) ([]byte, error) {
		if w.Handle == nil {
			return nil, nil
		}
		return nil, w.Handle()
	}
	one, err := schedule.NewWorker(schedule.WorkerConfig{
		Queues: []string{w.Queue}, Slots: w.Slots, Handlers: map[string]schedule.Handler{"none": handle},
		Tell: func(e schedule.Event) {
			if _, is := e.(schedule.AttemptEnded); is && w.Ended != nil {
				w.Ended()
			}
		},
	}, &timed{store, w.Took})
	if err != nil {
		store.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = one.Run(ctx, gate) }) // ends with ctx; one that ends earlier shows, since its jobs are missing
	running.Go(func() { _ = store.ListenJobs(ctx, one.Woken) })
	return func() {
		cancel()
		running.Wait()
		store.Close()
	}, nil
}

// timed times the takes that find jobs.
type timed struct {
	schedule.Jobs
	tell func(time.Duration)
}

func (t *timed) Take(ctx context.Context, post fence.Token, queues []string, take schedule.Take) (schedule.Taken, error) {
	began := time.Now()
	out, err := t.Jobs.Take(ctx, post, queues, take)
	if t.tell != nil && len(out.Jobs) > 0 {
		t.tell(time.Since(began))
	}
	return out, err
}

// Retry retries all dead jobs in one operation, and returns how many.
func Retry(ctx context.Context, url string) (done int64, took time.Duration, err error) {
	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 4)
	if err != nil {
		return 0, 0, err
	}
	defer store.Close()
	if err := store.Check(ctx); err != nil { // connects
		return 0, 0, err
	}
	began := time.Now()
	done, err = store.Operate(ctx, pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry})
	return done, time.Since(began), err
}
