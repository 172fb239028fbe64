//go:build unix

package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// stalls measures from a stop of the leader, or the silence of its line, until the successor acts
// behind each door. The ceiling is a plain lock on a session with the same lease by the server's
// clock, whose holder has the same fault at the same time; for the act door, plus the unavoidable
// lease.
func stalls(ctx context.Context, cfg Config, s *site, r *Report) error {
	cl, err := startCluster(ctx, cfg, s, true, atWork)
	defer cl.endAll()
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
		strike, heal func(*node, *lockPair)
	}{
		{
			"sigstop",
			func(n *node, p *lockPair) { n.process.Signal(syscall.SIGSTOP); p.process.Signal(syscall.SIGSTOP) },
			func(n *node, _ *lockPair) { n.process.Signal(syscall.SIGCONT) },
		},
		{
			"blackhole",
			func(n *node, _ *lockPair) { n.proxy.Blackhole(tcpproxy.Both); line.Blackhole(tcpproxy.Both) },
			func(n *node, _ *lockPair) { n.proxy.Heal(); line.Heal() },
		},
	} {
		cfg.Say("election: %d times %s …", cfg.amounts().stalls, kind.name)
		var t stallTimes
		for i := range cfg.amounts().stalls {
			if err := cl.stall(ctx, i, line, kind.strike, kind.heal, &t); err != nil {
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

// attempts bounds how often a stall is repeated until it counts. A machine that needs more is too
// busy to measure on.
const attempts = 10

// stall strikes until a stall counts. It does not count if the leader had lost its term, or the
// holder its lock, just before, as happens on a busy machine.
func (cl *cluster) stall(ctx context.Context, i int, line *tcpproxy.Proxy, strike, heal func(*node, *lockPair), t *stallTimes) error {
	for range attempts {
		counted, err := cl.stallOnce(ctx, i, line, strike, heal, t)
		if err != nil || counted {
			return err
		}
	}
	return fmt.Errorf("%d times in a row the leader had lost its term, or the holder its lock, before it was struck", attempts)
}

// stallOnce strikes the leader and a holder of a plain lock at once.
func (cl *cluster) stallOnce(ctx context.Context, i int, line *tcpproxy.Proxy, strike, heal func(*node, *lockPair), t *stallTimes) (counted bool, err error) {
	leader, epoch, err := cl.leader(ctx, 0, true)
	if err != nil {
		return false, err
	}
	url, err := pgraw.Through(cl.site.url, line.Addr())
	if err != nil {
		return false, err
	}
	p, err := startLockPair(ctx, cl.cfg, cl.site, cl.launcher, url, cl.cfg.Lease)
	if err != nil {
		return false, err
	}
	defer p.end()
	if err := pause.For(ctx, phase(cl.cfg.Lease/5, i)); err != nil {
		return false, err
	}
	if !cl.still(leader, epoch) {
		return false, cl.ready(ctx)
	}
	at := fence.Boottime()
	strike(leader, p)
	next, _, err := cl.leader(ctx, epoch, true)
	if err != nil {
		return false, err
	}
	plain, err := p.since(at)
	if err != nil {
		return false, err
	}
	acted := cl.read(&next.Acted)
	if counted = acted > at && plain > 0; counted {
		t.fenced, t.act = append(t.fenced, acted.Sub(at)), append(t.act, cl.read(&next.Inside).Sub(at))
		t.raw, t.rawAct = append(t.raw, plain), append(t.rawAct, plain+cl.cfg.Lease)
	}
	heal(leader, p)
	// The struck node learns that it was deposed, and campaigns again. If it was deposed before the
	// fault, it may lead again in another epoch and has nothing to learn.
	if err := cl.await(ctx, leader.id+" knows that it was deposed", func() bool { return leader.Epoch != epoch }); err != nil {
		return false, err
	}
	return counted, cl.ready(ctx)
}
