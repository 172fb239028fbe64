package worker

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// actOutside is the role behind the act door, for effects that no resource can refuse.
func (n *node) actOutside(ctx context.Context, l election.Leadership) error {
	pace := time.NewTicker(n.cfg.OutsidePace)
	defer pace.Stop()
	for ctx.Err() == nil {
		err := l.Gate.Do(ctx, fence.Act, n.cfg.OutsideMost, func(ctx context.Context, t fence.Token) error {
			return n.act(ctx, l.Gate, t)
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, fence.ErrShut) && !errors.Is(err, fence.ErrStale) {
			return err
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// act takes a moment and then writes its line. It checks the gate last, as any act must whose
// effect cannot be undone: a process that was stopped in between may see the end of its
// context too late (S15).
func (n *node) act(ctx context.Context, gate *fence.Gate, t fence.Token) error {
	a := evidence.Act{Start: fence.Boottime(), Epoch: t.Epoch, Term: t.Term.String(), Node: n.cfg.ID}
	work := time.NewTimer(n.cfg.OutsideWork)
	defer work.Stop()
	select {
	case <-work.C:
	case <-ctx.Done():
	}
	a.Checked = fence.Boottime() // shows whether the process was stopped after the check
	if err := gate.EnsureEpoch(fence.Act, t.Epoch); err != nil {
		return err
	}
	a.End = fence.Boottime()
	if err := n.outside.Append(a); err != nil {
		return err
	}
	n.acts.Add(1)
	return nil
}
