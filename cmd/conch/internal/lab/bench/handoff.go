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
)

func (n *node) kill() fence.Instant {
	at := fence.Boottime()
	n.process.Signal(syscall.SIGKILL)
	return at
}

// handoffs: SIGTERM for the leader, which gives up in order. Measured from what
// was left behind: from the end of its last act to the first of its successor,
// at both doors. The ceilings are an unlock that frees a blocked waiter, taken
// before there are nodes: between two handovers a leader is at work, as it is at none.
func handoffs(ctx context.Context, cfg Config, s *site, r *Report) error {
	many := cfg.amounts().handoffs
	cfg.Say("election: %d clean handovers …", many)
	blocked, noticed, err := unlocks(ctx, s, many)
	if err != nil {
		return err
	}
	q, err := muster(ctx, cfg, s, false, atWork)
	defer q.dismiss()
	if err != nil {
		return err
	}
	var changes []change
	for i := range many {
		c, err := q.step(ctx, i)
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

// unlocks are so many handovers of a plain lock.
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

// change of leadership, by the epochs before and after.
type change struct{ from, to int64 }

// step has the leader step down by SIGTERM and waits until all is in place again.
func (q *squad) step(ctx context.Context, i int) (c change, err error) {
	leader, epoch, err := q.leader(ctx, 0, true)
	if err != nil {
		return c, err
	}
	if err := pass(ctx, phase(q.cfg.Lease/5, i)); err != nil {
		return c, err
	}
	leader.process.Signal(syscall.SIGTERM)
	_, next, err := q.leader(ctx, epoch, true)
	if err != nil {
		return c, err
	}
	if err := q.again(ctx, leader); err != nil {
		return c, err
	}
	return change{epoch, next}, q.ready(ctx)
}

// gaps reads what was left behind: for each change the time between the last act
// of the one and the first of the other. A row that was acknowledged late is no late
// row, so such a change has no gap between rows; two that acted at once are an error.
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
