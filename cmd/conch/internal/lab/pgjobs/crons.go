package pgjobs

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// Crons are crons of one plan, which this process may run.
type Crons struct {
	scheduler *schedule.Scheduler
	store     *counting
	close     func()
}

// Declare declares crons of one plan, each of which makes a job that nobody takes. Ran is told of each time that has its row, from any
// goroutine; nil: nobody is.
func Declare(ctx context.Context, url string, many int, plan string, ran func(at time.Time)) (*Crons, error) {
	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 4)
	if err != nil {
		return nil, err
	}
	c := &Crons{store: &counting{Store: store}, close: store.Close}
	cfg := schedule.Config{Node: "bench", Tell: func(e schedule.Event) {
		if e, is := e.(schedule.Ran); is && ran != nil {
			ran(e.At)
		}
	}}
	for i := range many {
		cfg.Crons = append(cfg.Crons, schedule.Cron{Name: fmt.Sprint("cron-", i), Schedule: plan, Job: "none", Overlap: schedule.Allow, Queue: "bench"})
	}
	if c.scheduler, err = schedule.New(cfg, c.store); err == nil {
		err = c.scheduler.Declare(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Lead runs the crons until ctx ends, and returns its cause.
func (c *Crons) Lead(ctx context.Context, gate *fence.Gate) error {
	return c.scheduler.Lead(ctx, gate)
}

// Asked is how many transactions the leader has asked for.
func (c *Crons) Asked() int64 { return c.store.n.Load() }

// Close ends the connections.
func (c *Crons) Close() { c.close() }

// counting counts the calls of a store.
type counting struct {
	schedule.Store
	n atomic.Int64
}

func (c *counting) Read(ctx context.Context, r schedule.Read) (schedule.Loaded, error) {
	c.n.Add(1)
	return c.Store.Read(ctx, r)
}

func (c *counting) Write(ctx context.Context, t fence.Token, w schedule.Write) (schedule.Written, error) {
	c.n.Add(1)
	return c.Store.Write(ctx, t, w)
}
