package sequencer

import (
	"context"
	"testing"

	"github.com/conchhq/conch/sequencer/core"
)

// ended is a ledger that answers nothing since the node has ended.
type ended struct{ Ledger }

func (ended) Nudge(ctx context.Context) error { return ctx.Err() }

// What fails since the node ends is no trouble, and no input.
func TestTheEndIsNoTrouble(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	n := &Node{ctx: ctx, tasks: make(chan func(), 1), places: map[string]*place{"k": {set: &Contract{Ledger: ended{}}}}}
	n.act(core.Nudge{ID: 1, Contract: "k"})
	if n.group.Wait(); len(n.tasks) > 0 {
		t.Error("the core hears of it")
	}
}
