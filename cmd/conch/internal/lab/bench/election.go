//go:build unix

package bench

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// elected measures elections after crashes, clean handovers, and stopped or cut-off leaders, and the
// cost of rest.
func elected(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
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

// crashes measures from kill -9 of the leader until its successor has committed its first fenced
// row. The ceiling is a plain lock whose holder is killed, measured in turn. Leaders rest after
// their first row: a writing leader would slow the ceiling alone, since the figure begins with the
// death of the only writer.
func crashes(ctx context.Context, cfg Config, s *site, r *Report) error {
	many := cfg.amounts().kills
	cfg.Say("election: %d times kill -9 …", many)
	cl, err := startCluster(ctx, cfg, s, false, atRest)
	defer cl.endAll()
	if err != nil {
		return err
	}
	var ours, raw []time.Duration
	for i := range many {
		took, err := cl.crash(ctx, i)
		if err != nil {
			return err
		}
		plain, err := cl.plainCrash(ctx)
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

// plainCrash measures the ceiling: from the kill of a plain lock's holder until a waiting session
// has the lock.
func (cl *cluster) plainCrash(ctx context.Context) (time.Duration, error) {
	p, err := startLockPair(ctx, cl.cfg, cl.site, cl.launcher, cl.site.url, 0)
	if err != nil {
		return 0, err
	}
	defer p.end()
	return p.kill()
}

// crash kills the leader, each time at another point between two heartbeats, and waits until all
// nodes are back. It repeats a kill whose leader had lost its term just before, as happens on a busy
// machine.
func (cl *cluster) crash(ctx context.Context, i int) (time.Duration, error) {
	for {
		k, err := cl.crashOnce(ctx, i)
		if err != nil || k.took > 0 {
			return k.took, err
		}
	}
}

type killing struct {
	epoch int64         // epoch that it was found to lead in
	took  time.Duration // until its successor's first row was committed; 0: nobody was killed
}

// of reports whether this kill ended the leadership of the epoch, neither lost before nor replaced.
func (k killing) of(epoch int64) bool { return k.took > 0 && k.epoch == epoch }

func (cl *cluster) crashOnce(ctx context.Context, i int) (k killing, err error) {
	leader, epoch, err := cl.leader(ctx, 0, false)
	if err != nil {
		return k, err
	}
	if err := pause.For(ctx, phase(cl.cfg.Lease/5, i)); err != nil {
		return k, err
	}
	if !cl.still(leader, epoch) { // nobody was killed
		return k, cl.ready(ctx)
	}
	at := leader.kill()
	next, _, err := cl.leader(ctx, epoch, false)
	if err != nil {
		return k, err
	}
	k = killing{epoch: epoch, took: cl.read(&next.Acted).Sub(at)}
	if err := cl.again(ctx, leader); err != nil {
		return k, err
	}
	return k, cl.ready(ctx)
}

// read returns an instant that reports write.
func (cl *cluster) read(i *fence.Instant) fence.Instant {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return *i
}

// phase spreads faults evenly over an interval, whatever their number, by multiples of the golden
// ratio.
func phase(interval time.Duration, i int) time.Duration {
	const golden = 0.6180339887498949
	turn := float64(i+1) * golden
	return time.Duration((turn - float64(int(turn))) * float64(interval))
}
