package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// A judge can notice a gate that stays open too long only if acts go on until right before
// the deadline.
func TestOutsideActsGoOnUntilTheDeadline(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"unless told": {}, "told": {OutsideMost: 5 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lease = time.Second
				begun := time.Now()
				gate, latch := fence.New("work", func() fence.Instant { return fence.Instant(time.Since(begun)) })
				latch.Open(fence.Token{Scope: "work", Epoch: 1}, 0, fence.Instant(lease))
				lines, err := evidence.OpenLines(evidence.OutsideFile(t.TempDir()))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = lines.Close() }()
				n := &node{cfg: cfg.withDefaults(), outside: lines}
				ctx, cancel := context.WithTimeout(t.Context(), 2*lease)
				defer cancel()
				if err := n.actOutside(ctx, election.Leadership{Gate: gate}); err != nil {
					t.Fatal(err)
				}
				if latch.Answers() != 0 {
					t.Error("the role's own acts left an answer that a handover would wait for")
				}
				left := lease - time.Duration(n.acts.Load()-1)*n.cfg.OutsidePace // when the last act began
				if most := n.cfg.OutsideMost; left <= most || left > most+n.cfg.OutsidePace {
					t.Errorf("the last act began %s before the deadline; it may take %s, and the pace is %s", left, most, n.cfg.OutsidePace)
				}
			})
		})
	}
}
