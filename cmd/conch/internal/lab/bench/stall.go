//go:build unix

package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// stalls: leaders that are stopped, and leaders whose line goes silent, until the
// successor acts behind each door. The ceiling is a plain lock on a session with
// the same lease by the server's clock, whose holder meets the same fate at the
// same time; for the act door, plus the lease that nobody can save.
func stalls(ctx context.Context, cfg Config, s *site, r *Report) error {
	q, err := muster(ctx, cfg, s, true, atWork)
	defer q.dismiss()
	if err != nil {
		return err
	}
	target, err := pgraw.Target(s.url)
	if err != nil {
		return err
	}
	line, err := tcpproxy.New(target)
	if err != nil {
		return err
	}
	defer line.Close()
	for _, kind := range []struct {
		name         string
		strike, heal func(*node, *vigil)
	}{
		{
			"sigstop",
			func(n *node, v *vigil) { n.process.Signal(syscall.SIGSTOP); v.process.Signal(syscall.SIGSTOP) },
			func(n *node, _ *vigil) { n.process.Signal(syscall.SIGCONT) },
		},
		{
			"blackhole",
			func(n *node, _ *vigil) { n.proxy.Blackhole(tcpproxy.Both); line.Blackhole(tcpproxy.Both) },
			func(n *node, _ *vigil) { n.proxy.Heal(); line.Heal() },
		},
	} {
		cfg.Say("election: %d times %s …", cfg.amounts().stalls, kind.name)
		var t stallTimes
		for i := range cfg.amounts().stalls {
			if err := q.stall(ctx, i, line, kind.strike, kind.heal, &t); err != nil {
				return err
			}
		}
		r.add(kind.name+"_samples", float64(len(t.fenced)), "faults")
		r.spread(kind.name+"_to_fenced", t.fenced, t.raw)
		r.spread(kind.name+"_to_act", t.act, t.rawAct)
	}
	return nil
}

type stallTimes struct{ fenced, act, raw, rawAct []time.Duration }

// strokes is how often a stall is tried until it counts. A machine on which so many come
// too late has no time to show anything.
const strokes = 10

// stall strikes until it counts: a leader that had lost its term an instant before, as on
// a machine that is short of time, does not, nor does a holder that had lost its lock.
func (q *squad) stall(ctx context.Context, i int, line *tcpproxy.Proxy, strike, heal func(*node, *vigil), t *stallTimes) error {
	for range strokes {
		counted, err := q.stallOnce(ctx, i, line, strike, heal, t)
		if err != nil || counted {
			return err
		}
	}
	return fmt.Errorf("%d times in a row the leader had lost its term, or the holder its lock, before it was struck", strokes)
}

// stallOnce strikes whoever leads, and a holder of a plain lock, at once.
func (q *squad) stallOnce(ctx context.Context, i int, line *tcpproxy.Proxy, strike, heal func(*node, *vigil), t *stallTimes) (counted bool, err error) {
	leader, epoch, err := q.leader(ctx, 0, true)
	if err != nil {
		return false, err
	}
	url, err := pgraw.Through(q.site.url, line.Addr())
	if err != nil {
		return false, err
	}
	v, err := watch(ctx, q.cfg, q.site, q.launcher, url, q.cfg.Lease)
	if err != nil {
		return false, err
	}
	defer v.end()
	if err := pass(ctx, phase(q.cfg.Lease/5, i)); err != nil {
		return false, err
	}
	if !q.still(leader, epoch) {
		return false, q.ready(ctx)
	}
	at := fence.Boottime()
	strike(leader, v)
	next, _, err := q.leader(ctx, epoch, true)
	if err != nil {
		return false, err
	}
	plain, err := v.since(at)
	if err != nil {
		return false, err
	}
	acted := q.read(&next.acted)
	if counted = acted > at && plain > 0; counted {
		t.fenced, t.act = append(t.fenced, acted.Sub(at)), append(t.act, q.read(&next.inside).Sub(at))
		t.raw, t.rawAct = append(t.raw, plain), append(t.rawAct, plain+q.cfg.Lease)
	}
	heal(leader, v)
	// The one that was struck learns that it was deposed and campaigns again. If it was so
	// before, it may lead again, in another epoch, and need not learn anything.
	if err := q.await(ctx, leader.id+" knows that it was deposed", func() bool { return leader.epoch != epoch }); err != nil {
		return false, err
	}
	return counted, q.ready(ctx)
}
