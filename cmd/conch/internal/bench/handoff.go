//go:build unix

package bench

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/pgraw"
	"github.com/conchhq/conch/fence"
)

func (n *node) kill() fence.Instant {
	at := fence.Boottime()
	n.process.Signal(syscall.SIGKILL)
	return at
}

// handoffs: SIGTERM for the leader, which gives up in order. Measured from what
// was left behind: from the end of its last act to the first of its successor,
// at both doors. The ceilings are an unlock that frees a blocked waiter.
func handoffs(ctx context.Context, cfg Config, s *site, r *Report) error {
	many := cfg.amounts().handoffs
	cfg.Say("election: %d clean handovers …", many)
	q, err := muster(ctx, cfg, s, false)
	defer q.dismiss()
	if err != nil {
		return err
	}
	a, err := pgraw.OpenLocker(ctx, s.url)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := pgraw.OpenLocker(ctx, s.url)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := errors.Join(a.Listen(ctx), b.Listen(ctx)); err != nil {
		return err
	}
	var changes []change
	var blocked, noticed []time.Duration
	for i := range many {
		c, err := q.step(ctx, i)
		if err != nil {
			return err
		}
		one, other, err := unlocked(ctx, a, b, s)
		if err != nil {
			return err
		}
		changes = append(changes, c)
		blocked, noticed = append(blocked, one), append(noticed, other)
	}
	fencedGaps, actGaps, err := gaps(s.dir, changes)
	if err != nil {
		return err
	}
	r.add("handoff_samples", float64(len(fencedGaps)), "handovers")
	r.spread("handoff_to_fenced", fencedGaps, blocked)
	r.spread("handoff_to_act", actGaps, blocked)
	r.spread("raw_notify_try", noticed, blocked)
	return nil
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
// of the one and the first of the other.
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
	return between(committed, changes), between(acted, changes), nil
}

type span struct{ first, last fence.Instant }

func widen(spans map[int64]span, epoch int64, start, end fence.Instant) {
	s, known := spans[epoch]
	if !known {
		s = span{start, end}
	}
	spans[epoch] = span{min(s.first, start), max(s.last, end)}
}

func between(spans map[int64]span, changes []change) (all []time.Duration) {
	for _, c := range changes {
		before, a := spans[c.from]
		after, b := spans[c.to]
		if a && b {
			all = append(all, after.first.Sub(before.last))
		}
	}
	return all
}
