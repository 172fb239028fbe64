//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgjobs"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	crewPosts = 2    // workers, as many as River has clients
	crewSlots = 1000 // jobs that each has at a time
	crewQueue = "bench"
)

// crew is workers in this process, each with a post and connections of its own.
type crew struct {
	url      string
	worker   pgjobs.Worker
	gates    []*fence.Gate
	cleanups []func()
}

// hire has this process lead a post for each worker, and waits until they may take jobs.
func (t *timetable) hire(ctx context.Context, workers int, w pgjobs.Worker) (*crew, error) {
	w.Queue, w.Slots = crewQueue, crewSlots
	c := &crew{url: t.site.url, worker: w}
	for i := range workers {
		gate, _, stop, err := lead(ctx, t.site.url, fmt.Sprint("worker/bench/", i+1))
		if err != nil {
			return c, err
		}
		c.cleanups = append(c.cleanups, stop)
		if _, err := gate.Wait(ctx, fence.Act); err != nil {
			return c, err
		}
		c.gates = append(c.gates, gate)
	}
	return c, nil
}

// work begins to take jobs.
func (c *crew) work(ctx context.Context) error {
	for _, gate := range c.gates {
		stop, err := c.worker.Start(ctx, c.url, gate)
		if err != nil {
			return err
		}
		c.cleanups = append(c.cleanups, stop)
	}
	return nil
}

// dismiss ends the workers, and then gives their posts up.
func (c *crew) dismiss() {
	for i := range c.cleanups {
		c.cleanups[len(c.cleanups)-1-i]()
	}
}

// passed is what a run of many jobs has found.
type passed struct{ rate, insertWAL, workWAL, server, own float64 } // the last two: µs of a processor

// passes adds jobs, and has workers do them.
func (t *timetable) passes(ctx context.Context, many int) (p passed, err error) {
	var done atomic.Int64
	over := make(chan struct{})
	c, err := t.hire(ctx, crewPosts, pgjobs.Worker{Ended: func() {
		if done.Add(1) == int64(many) {
			close(over)
		}
	}})
	defer c.dismiss()
	if err != nil {
		return p, err
	}
	server, own := t.server(ctx), spent(os.Getpid())
	first, err := t.jobs.WAL(ctx)
	if err != nil {
		return p, err
	}
	if err := t.jobs.Add(ctx, crewQueue, many); err != nil {
		return p, err
	}
	if err := t.jobs.Checkpoint(ctx); err != nil {
		return p, err
	}
	added, err := t.jobs.WAL(ctx)
	if err != nil {
		return p, err
	}
	began := time.Now()
	if err := c.work(ctx); err != nil {
		return p, err
	}
	if err := within(ctx, patience, look, "all jobs have ended", func() (bool, error) {
		select {
		case <-over:
			return true, nil
		default:
			return false, nil
		}
	}); err != nil {
		return p, err
	}
	p.rate = perSecond(many, began)
	last, err := t.jobs.WAL(ctx)
	p.insertWAL, p.workWAL = (added-first)/float64(many), (last-added)/float64(many)
	p.server, p.own = each(t.server(ctx)-server, many), each(spent(os.Getpid())-own, many)
	return p, err
}

// each is the share of one of many, in µs.
func each(d time.Duration, many int) float64 { return float64(d.Microseconds()) / float64(many) }

// throughput measures jobs that do nothing, by two workers of a thousand slots each, beside River in turn.
func (t *timetable) throughput(ctx context.Context, r *Report) error {
	many, rounds := t.cfg.amounts().jobs, t.cfg.amounts().jobRounds
	if t.cfg.River == "" {
		t.cfg.Say("schedule: %s is neither beside this program nor on the PATH, so that River is not beside conch's own figures: %s, or name it by %s",
			members.RiverName, members.RiverBuild, members.RiverEnv)
	}
	t.cfg.Say("schedule: %d rounds of %d jobs that do nothing …", rounds, many)
	var ours, theirs [5][]float64
	for i := range rounds {
		for half := range 2 {
			if half == i%2 { // ABBA: neither is always second
				before := t.server(ctx)
				if err := t.river(ctx, members.RiverLoad{Jobs: many}, func(l members.RiverLine) {
					note(&theirs, passed{l.Rate, l.InsertWAL, l.WorkWAL, each(t.server(ctx)-before, many), l.Processor})
				}); err != nil {
					return err
				}
				continue
			}
			p, err := t.passes(ctx, many)
			if err != nil {
				return err
			}
			note(&ours, p)
			if err := t.jobs.Clear(ctx); err != nil {
				return err
			}
		}
	}
	r.beside("jobs", median(ours[0]), median(theirs[0]), "jobs/s")
	r.beside("job_wal_add", median(ours[1]), median(theirs[1]), "bytes")
	r.beside("job_wal_work", median(ours[2]), median(theirs[2]), "bytes")
	r.beside("job_processor_server", median(ours[3]), median(theirs[3]), "µs")
	r.beside("job_processor_workers", median(ours[4]), median(theirs[4]), "µs")
	return nil
}

func note(to *[5][]float64, p passed) {
	for i, v := range []float64{p.rate, p.insertWAL, p.workWAL, p.server, p.own} {
		to[i] = append(to[i], v)
	}
}

// river has River do something, if its program is there.
func (t *timetable) river(ctx context.Context, l members.RiverLoad, tell func(members.RiverLine)) error {
	if t.cfg.River == "" {
		return nil
	}
	l.URL, l.Workers, l.Slots = t.site.url, crewPosts, crewSlots
	return members.RunRiver(ctx, t.cfg.River, l, tell)
}

// singles adds a job at rest, and the next one when it has been called; it returns how long that took from the commit on.
func (t *timetable) singles(ctx context.Context, many int, took func(time.Duration)) (all []time.Duration, err error) {
	called := make(chan time.Time, 1)
	c, err := t.hire(ctx, crewPosts, pgjobs.Worker{Took: took, Handle: func() error {
		called <- time.Now()
		return nil
	}})
	defer c.dismiss()
	if err != nil {
		return nil, err
	}
	if err := c.work(ctx); err != nil {
		return nil, err
	}
	const warm = 20 // jobs that find what is not prepared yet
	for i := range many + warm {
		if err := t.jobs.Add(ctx, crewQueue, 1); err != nil {
			return nil, err
		}
		committed := time.Now()
		bound, give := context.WithTimeoutCause(ctx, patience, errNever)
		select {
		case at := <-called:
			give()
			if i >= warm {
				all = append(all, max(at.Sub(committed), 0))
			}
		case <-bound.Done():
			give()
			return nil, fmt.Errorf("a job was not called: %w", context.Cause(bound))
		}
		if err := pause.For(ctx, 5*time.Millisecond+phase(20*time.Millisecond, i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// oneByOne measures from the commit of a job at rest until its handler is called, beside River.
func (t *timetable) oneByOne(ctx context.Context, r *Report) error {
	many := t.cfg.amounts().jobSingles
	t.cfg.Say("schedule: %d jobs at rest, one by one …", many)
	var theirs []time.Duration
	if err := t.river(ctx, members.RiverLoad{Singles: many}, func(l members.RiverLine) { theirs = durations(l.Took) }); err != nil {
		return err
	}
	ours, err := t.singles(ctx, many, nil)
	r.spread("committed_to_called", ours, theirs)
	return err
}

// held measures takes while another transaction holds a snapshot from before many jobs, whose rows nobody may clean up. The ceiling is the same right
// before.
func (t *timetable) held(ctx context.Context, r *Report) error {
	many, singles := t.cfg.amounts().heldJobs, t.cfg.amounts().jobSingles
	t.cfg.Say("schedule: takes while a snapshot is held from before %d jobs …", many)
	takes := func() (all []time.Duration, err error) {
		var mu sync.Mutex
		_, err = t.singles(ctx, singles, func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, d)
		})
		return all, err
	}
	plain, err := takes()
	if err != nil {
		return err
	}
	release, err := t.jobs.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, err := t.passes(ctx, many); err != nil {
		return err
	}
	loaded, err := takes()
	r.spread(fmt.Sprintf("take_after_%d_held", many), loaded, plain)
	return err
}

// dead measures the operation that retries dead jobs.
func (t *timetable) dead(ctx context.Context, r *Report) error {
	many := t.cfg.amounts().dead
	t.cfg.Say("schedule: %d dead jobs are retried …", many)
	if err := t.jobs.Kill(ctx, crewQueue, many); err != nil {
		return err
	}
	done, took, err := pgjobs.Retry(ctx, t.site.url)
	r.add(fmt.Sprintf("dead_retried_%d", many), ms(took), "ms")
	ready, counting := t.jobs.Count(ctx, "ready")
	if err == nil && (done != int64(many) || ready != many) {
		err = fmt.Errorf("%d of %d dead jobs were retried, and %d are ready", done, many, ready)
	}
	return errors.Join(err, counting)
}
