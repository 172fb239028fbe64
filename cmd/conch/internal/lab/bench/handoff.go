//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

func (n *node) kill() fence.Instant {
	at := fence.Boottime()
	n.process.Signal(syscall.SIGKILL)
	return at
}

// handoffs measures, from the evidence, the time between the end of the leader's last act and the
// successor's first act after SIGTERM, at both doors. The ceiling is an unlock that frees a blocked
// waiter. It is measured before there are nodes, since during a handover no leader works, but
// between two of them one does.
func handoffs(ctx context.Context, cfg Config, s *site, r *Report) error {
	many := cfg.amounts().handoffs
	cfg.Say("election: %d clean handovers …", many)
	blocked, noticed, err := unlocks(ctx, s, many)
	if err != nil {
		return err
	}
	cl, err := startCluster(ctx, cfg, s, false, atWork)
	defer cl.endAll()
	if err != nil {
		return err
	}
	var changes []change
	for i := range many {
		c, err := cl.step(ctx, i)
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	fencedGaps, actGaps, err := gaps(s.dir, changes)
	if err != nil {
		return err
	}
	r.add("handoff_samples", float64(len(fencedGaps)), "handovers")
	r.add("handoff_act_samples", float64(len(actGaps)), "handovers")
	r.spread("handoff_to_fenced", fencedGaps, blocked)
	r.spread("handoff_to_act", actGaps, blocked)
	r.spread("raw_notify_try", noticed, blocked)
	return nil
}

func unlocks(ctx context.Context, s *site, many int) (blocked, noticed []time.Duration, err error) {
	a, err := pgraw.OpenLocker(ctx, s.url)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	b, err := pgraw.OpenLocker(ctx, s.url)
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	if err := errors.Join(a.Listen(ctx), b.Listen(ctx)); err != nil {
		return nil, nil, err
	}
	for range many {
		one, other, err := unlocked(ctx, a, b, s)
		if err != nil {
			return nil, nil, err
		}
		blocked, noticed = append(blocked, one), append(noticed, other)
	}
	return blocked, noticed, nil
}

type change struct{ from, to int64 }

// step ends the leader by SIGTERM and waits until all nodes are back.
func (cl *cluster) step(ctx context.Context, i int) (c change, err error) {
	leader, epoch, err := cl.leader(ctx, 0, true)
	if err != nil {
		return c, err
	}
	if err := pause.For(ctx, phase(cl.cfg.Lease/5, i)); err != nil {
		return c, err
	}
	leader.process.Signal(syscall.SIGTERM)
	_, next, err := cl.leader(ctx, epoch, true)
	if err != nil {
		return c, err
	}
	if err := cl.again(ctx, leader); err != nil {
		return c, err
	}
	return change{epoch, next}, cl.ready(ctx)
}

// gaps returns, for each change, the time between the last act of one leader and the first of the
// next. A late acknowledgement does not prove a late row, so such a change has no gap between rows.
// If two leaders acted at once behind the act door, that is an error.
func gaps(dir string, changes []change) (rows, outside []time.Duration, err error) {
	acks, err := evidence.ReadAcks(dir)
	if err != nil {
		return nil, nil, err
	}
	acts, err := evidence.ReadActs(evidence.OutsideFile(dir))
	if err != nil {
		return nil, nil, err
	}
	committed, acted := map[int64]span{}, map[int64]span{}
	for _, a := range acks {
		widen(committed, a.Epoch, a.At, a.At)
	}
	for _, a := range acts {
		widen(acted, a.Epoch, a.Start, a.End)
	}
	rows, _ = between(committed, changes)
	outside, overlaps := between(acted, changes)
	if len(overlaps) > 0 {
		return nil, nil, fmt.Errorf("two leaders acted at once behind the act door: %w", errors.Join(overlaps...))
	}
	return rows, outside, nil
}

type span struct{ first, last fence.Instant }

func widen(spans map[int64]span, epoch int64, start, end fence.Instant) {
	s, known := spans[epoch]
	if !known {
		s = span{start, end}
	}
	spans[epoch] = span{min(s.first, start), max(s.last, end)}
}

func between(spans map[int64]span, changes []change) (all []time.Duration, overlaps []error) {
	for _, c := range changes {
		before, a := spans[c.from]
		after, b := spans[c.to]
		if !a || !b {
			continue
		}
		gap := after.first.Sub(before.last)
		if gap < 0 {
			overlaps = append(overlaps, fmt.Errorf("epoch %d was at work for %s after epoch %d had begun", c.from, -gap, c.to))
			continue
		}
		all = append(all, gap)
	}
	return all, overlaps
}
