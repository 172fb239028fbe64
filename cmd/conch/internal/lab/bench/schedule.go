//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgjobs"
	"github.com/conchhq/conch/internal/pause"
)

// timetable is the database of all parts of the bench.
type timetable struct {
	cfg  Config
	site *site
	jobs *pgjobs.Tables
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
	if t.jobs, err = pgjobs.Open(ctx, s.url); err != nil {
		return r, err
	}
	defer t.jobs.Close()
	for _, part := range []func(context.Context, *Report) error{t.due, t.idle, t.throughput, t.oneByOne, t.held, t.dead, t.workerDeaths, t.leaderDeaths} {
		if err := part(ctx, &r); err != nil {
			return r, err
		}
		if err := t.jobs.Clear(ctx); err != nil {
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

// whileScheduling declares crons, and has this process run them meanwhile.
func (t *timetable) whileScheduling(ctx context.Context, many int, plan string, ran func(at time.Time), do func(context.Context, *pgjobs.Crons) error) error {
	crons, err := pgjobs.Declare(ctx, t.site.url, many, plan, ran)
	if err != nil {
		return err
	}
	defer crons.Close()
	if err := t.jobs.Settle(ctx); err != nil {
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
	running.Go(func() { ended <- crons.Lead(leading, gate) })
	err = do(ctx, crons)
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
		ran := func(at time.Time) {
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(at))
			last[at] = time.Since(at)
		}
		times := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(took)
		}
		var worked time.Duration
		err := t.whileScheduling(ctx, crons, "*/2 * * * * *", ran, func(ctx context.Context, _ *pgjobs.Crons) error {
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
		if err := t.jobs.Clear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// idle counts what the leader asks of the database while no cron is due.
func (t *timetable) idle(ctx context.Context, r *Report) error {
	crons, rest := t.cfg.amounts().idleCrons, t.cfg.amounts().idleRest
	t.cfg.Say("schedule: %d crons of which none is due, for %s …", crons, rest)
	var n int64
	began := time.Now()
	err := t.whileScheduling(ctx, crons, "0 0 29 2 *", nil, func(ctx context.Context, all *pgjobs.Crons) error {
		began = time.Now()
		if err := until(ctx, "all crons are adopted", func() (bool, error) { return all.Asked() > int64((crons+999)/1000), nil }); err != nil {
			return err
		}
		r.add(fmt.Sprintf("idle_%d_begin", crons), ms(time.Since(began)), "ms")
		if err := pause.For(ctx, time.Second); err != nil {
			return err
		}
		n = -all.Asked()
		err := pause.For(ctx, rest)
		n += all.Asked()
		return err
	})
	r.add(fmt.Sprintf("idle_%d", crons), float64(n)*30/rest.Seconds(), "transactions/30s")
	return err
}
