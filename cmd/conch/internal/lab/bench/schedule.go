//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgjobs"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// timetable is the database of all parts of the bench.
type timetable struct {
	cfg   Config
	site  *site
	desk  *pgjobs.Desk
	store *pgstore.Store
}

// scheduled measures crons and jobs: how soon what is due is committed and called, beside a River that has the same jobs in the same database.
func scheduled(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("schedule: on %s", s.about(ctx))
	t := &timetable{cfg: cfg, site: s}
	if t.desk, err = pgjobs.Open(ctx, s.url); err != nil {
		return r, err
	}
	defer t.desk.Close()
	if t.store, err = pgstore.Open(ctx, pgstore.Connection{URL: s.url}, 4); err != nil {
		return r, err
	}
	defer t.store.Close()
	for _, part := range []func(context.Context, *Report) error{t.due, t.idle, t.throughput, t.oneByOne, t.held, t.dead, t.workerDeaths, t.leaderDeaths} {
		if err := part(ctx, &r); err != nil {
			return r, err
		}
		if err := t.desk.Clear(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// server returns the processor time that the server has taken; 0 if it is not the bench's own.
func (t *timetable) server(ctx context.Context) time.Duration {
	if t.cfg.Database != "" {
		return 0
	}
	pids, err := t.site.admin.Processes(ctx)
	if err != nil || len(pids) == 0 {
		return 0
	}
	return spentBelow(pids[0])
}

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

// whileScheduling declares crons, and has this process run them meanwhile.
func (t *timetable) whileScheduling(ctx context.Context, crons int, plan string, store schedule.Store, tell func(schedule.Event), do func(context.Context) error) error {
	cfg := schedule.Config{Tell: tell, Node: "bench"}
	for i := range crons {
		cfg.Crons = append(cfg.Crons, schedule.Cron{Name: fmt.Sprint("cron-", i), Schedule: plan, Job: "none", Overlap: schedule.Allow, Queue: "bench"})
	}
	s, err := schedule.New(cfg, store)
	if err != nil {
		return err
	}
	if err := s.Declare(ctx); err != nil {
		return err
	}
	if err := t.desk.Settle(ctx); err != nil {
		return err
	}
	gate, _, stop, err := lead(ctx, t.site.url, "scheduler")
	if err != nil {
		return err
	}
	defer stop()
	leading, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ended := make(chan error, 1)
	running.Go(func() { ended <- s.Lead(leading, gate) })
	err = do(ctx)
	select {
	case early := <-ended:
		return errors.Join(err, early)
	default:
		return err
	}
}

// due measures from the second in which all of some crons are due until the leader knows that they have their rows and jobs.
func (t *timetable) due(ctx context.Context, r *Report) error {
	for _, crons := range t.cfg.amounts().crons {
		seconds := t.cfg.amounts().cronSeconds
		t.cfg.Say("schedule: %d crons that are due at the same time, %d times …", crons, seconds)
		var took []time.Duration
		last := map[time.Time]time.Duration{} // until the last one of a time had its row
		var mu sync.Mutex
		tell := func(e schedule.Event) {
			if e, is := e.(schedule.Ran); is {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(e.At))
				last[e.At] = time.Since(e.At)
			}
		}
		times := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(took)
		}
		var worked time.Duration
		err := t.whileScheduling(ctx, crons, "*/2 * * * * *", t.store, tell, func(ctx context.Context) error {
			if err := until(ctx, "all crons have run", func() (bool, error) { return times() >= crons, nil }); err != nil {
				return err
			}
			worked = -t.server(ctx)
			err := within(ctx, patience+time.Duration(4*seconds)*time.Second, look, "all crons have run often enough", func() (bool, error) { return times() >= (seconds+1)*crons, nil })
			worked += t.server(ctx)
			return err
		})
		if err != nil {
			return err
		}
		var whole []time.Duration
		for _, d := range last {
			whole = append(whole, d)
		}
		name := fmt.Sprintf("due_%d", crons)
		r.spread(name, took[crons:], nil) // the first time of all finds what is not prepared yet
		r.add(name+"_last_p50", ms(quantile(whole, 0.5)), "ms")
		r.add(name+"_processor_server", float64(worked.Microseconds())/float64(seconds*crons), "µs/time")
		if err := t.desk.Clear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// idle counts what the leader asks of the database while no cron is due.
func (t *timetable) idle(ctx context.Context, r *Report) error {
	crons, rest := t.cfg.amounts().idleCrons, t.cfg.amounts().idleRest
	t.cfg.Say("schedule: %d crons of which none is due, for %s …", crons, rest)
	store := &counting{Store: t.store}
	var n int64
	began := time.Now()
	err := t.whileScheduling(ctx, crons, "0 0 29 2 *", store, func(schedule.Event) {}, func(ctx context.Context) error {
		began = time.Now()
		if err := until(ctx, "all crons are adopted", func() (bool, error) { return store.n.Load() > int64((crons+999)/1000), nil }); err != nil {
			return err
		}
		r.add(fmt.Sprintf("idle_%d_begin", crons), ms(time.Since(began)), "ms")
		if err := pause.For(ctx, time.Second); err != nil {
			return err
		}
		n = -store.n.Load()
		err := pause.For(ctx, rest)
		n += store.n.Load()
		return err
	})
	r.add(fmt.Sprintf("idle_%d", crons), float64(n)*30/rest.Seconds(), "transactions/30s")
	return err
}
