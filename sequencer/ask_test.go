package sequencer_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Users who call while a node ends, or after that, hear of it. None hangs.
func TestUsersHearOfTheEnd(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	node, err := sequencer.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.ctx)
	var users sync.WaitGroup
	calls := []func() error{
		func() error { _, err := node.Look(w.ctx, "a"); return err },
		func() error { _, err := node.Status(w.ctx, "a"); return err },
		func() error { _, err := node.List(w.ctx, "a", sequencer.Filter{}); return err },
		func() error { return node.Cancel(w.ctx, "a", ledger.Sequence{}) },
		func() error { _, err := node.Wait(w.ctx, "a", "nobody's"); return err },
		func() error {
			_, err := node.Submit(w.ctx, "a", "key", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0)
			return err
		},
	}
	for _, call := range calls {
		for range 60 { // more than the node has room for
			users.Go(func() {
				var err error
				for err == nil {
					err = call()
				}
				if !errors.Is(err, sequencer.ErrStopped) {
					t.Errorf("a user hears %v, want ErrStopped", err)
				}
			})
		}
	}
	over := make(chan error, 1)
	go func() { over <- node.Run(ctx) }()
	if _, err := node.Submit(w.ctx, "b", "funds", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("the node ended with %v", err)
	}
	users.Wait()
}
