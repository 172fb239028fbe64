package sequencer

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/conchhq/conch/internal/step"
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
	n := &Node{ctx: ctx, inbox: step.NewInbox[func()](), places: map[string]*place{"k": {set: &Contract{Ledger: ended{}}}}}
	n.act(core.Nudge{ID: 1, Contract: "k"})
	if n.group.Wait(); len(n.inbox.Take()) > 0 {
		t.Error("the core hears of it")
	}
}

// What others say waits until the loop has room for it; what this node has asked for does not.
func TestWhatOthersSayWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		n := &Node{ctx: ctx, inbox: step.NewInbox[func()](), calls: make(chan func(), 2)}
		for range 2 {
			n.hear(core.Beaten{})
		}
		heard := false
		n.group.Go(func() {
			n.hear(core.Beaten{})
			heard = true
		})
		n.put(core.Written{})
		if synctest.Wait(); heard {
			t.Error("a third message has found room")
		}
		<-n.calls
		if synctest.Wait(); !heard {
			t.Error("there is room, and it still waits")
		}
		n.group.Go(func() { n.hear(core.Beaten{}) })
		synctest.Wait()
		stop() // what waits then waits no more
		n.group.Wait()
	})
}
