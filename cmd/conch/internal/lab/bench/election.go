//go:build unix

package bench

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
)

// elected measures elections: crashes, clean handovers, leaders that stand still
// or are cut off, and what rest costs.
func elected(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("election: on %s, lease %s", s.about(ctx), cfg.Lease)
	for _, part := range []func(context.Context, Config, *site, *Report) error{crashes, handoffs, stalls, rests} {
		if err := part(ctx, cfg, s, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// crashes: kill -9 of the leader until its successor has committed its first
// fenced row. The ceiling, a plain lock whose holder is killed, is taken in turn
// with it. Whoever leads is at rest after its first row: a leader that writes would
// slow the ceiling alone, since the figure begins with the death of the only writer.
func crashes(ctx context.Context, cfg Config, s *site, r *Report) error {
	many := cfg.amounts().kills
	cfg.Say("election: %d times kill -9 …", many)
	q, err := muster(ctx, cfg, s, false, atRest)
	defer q.dismiss()
	if err != nil {
		return err
	}
	var ours, raw []time.Duration
	for i := range many {
		took, err := q.crash(ctx, i)
		if err != nil {
			return err
		}
		plain, err := q.plainCrash(ctx)
		if err != nil {
			return err
		}
		ours, raw = append(ours, took), append(raw, plain)
		if (i+1)%50 == 0 {
			cfg.Say("election: %d killed, p50 so far %.1f ms", i+1, ms(quantile(ours, 0.5)))
		}
	}
	r.add("kill9_samples", float64(len(ours)), "kills")
	r.spread("kill9_to_fenced", ours, raw)
	return nil
}

// plainCrash is the ceiling: a holder of a plain lock is killed, until a session that
// waits has it.
func (q *squad) plainCrash(ctx context.Context) (time.Duration, error) {
	v, err := watch(ctx, q.cfg, q.site, q.launcher, q.site.url, 0)
	if err != nil {
		return 0, err
	}
	defer v.end()
	return v.kill()
}

// crash kills whoever leads, at another point between two heartbeats each time,
// and waits until all nodes are back in their places. A leader that had lost its
// term an instant before, as on a machine that is short of time, does not count.
func (q *squad) crash(ctx context.Context, i int) (time.Duration, error) {
	for {
		k, err := q.crashOnce(ctx, i)
		if err != nil || k.took > 0 {
			return k.took, err
		}
	}
}

// killing is one kill -9 of a leader.
type killing struct {
	epoch int64         // that it was thought to lead in
	took  time.Duration // until its successor's first row was committed; 0: nobody was killed
}

// of says whether it was that leadership that ended by this kill: it had not been lost
// before, and it is not a later one.
func (k killing) of(epoch int64) bool { return k.took > 0 && k.epoch == epoch }

func (q *squad) crashOnce(ctx context.Context, i int) (k killing, err error) {
	leader, epoch, err := q.leader(ctx, 0, false)
	if err != nil {
		return k, err
	}
	if err := pass(ctx, phase(q.cfg.Lease/5, i)); err != nil {
		return k, err
	}
	if !q.still(leader, epoch) { // nobody was killed
		return k, q.ready(ctx)
	}
	at := leader.kill()
	next, _, err := q.leader(ctx, epoch, false)
	if err != nil {
		return k, err
	}
	k = killing{epoch: epoch, took: q.read(&next.acted).Sub(at)}
	if err := q.again(ctx, leader); err != nil {
		return k, err
	}
	return k, q.ready(ctx)
}

// read an instant that reports write.
func (q *squad) read(i *fence.Instant) fence.Instant {
	q.mu.Lock()
	defer q.mu.Unlock()
	return *i
}

// phase spreads faults evenly over an interval, whatever their number: multiples
// of the golden ratio.
func phase(interval time.Duration, i int) time.Duration {
	const golden = 0.6180339887498949
	turn := float64(i+1) * golden
	return time.Duration((turn - float64(int(turn))) * float64(interval))
}
