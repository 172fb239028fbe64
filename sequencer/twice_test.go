package sequencer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// forgetful is a store that, once it is armed, forgets all that has ended just before it is asked for a key.
type forgetful struct {
	sequencer.Store
	armed atomic.Bool
}

func (f *forgetful) Find(ctx context.Context, contract, key string) (sequencer.Found, bool, error) {
	if f.armed.CompareAndSwap(true, false) {
		if _, err := f.Trim(ctx, map[string]time.Duration{contract: 0}, 100); err != nil {
			return sequencer.Found{}, false, err
		}
	}
	return f.Store.Find(ctx, contract, key)
}

// P28: the row of a key may be forgotten between the write that finds it and the look at it. Then the key is free, and a
// request under it is a new one, the same or another: its user hears of no conflict.
func TestAKeyIsForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	f := &forgetful{Store: w.cfg.Store}
	w.cfg.Store = f
	w.start()
	var before ledger.Sequence
	for _, request := range []string{
		`{"pay": {"from": "nobody", "to": "office", "amount": 5}}`, `{"pay": {"from": "nobody", "to": "office", "amount": 5}}`,
		`{"pay": {"from": "nobody", "to": "office", "amount": 6}}`,
	} {
		again := before != ledger.Sequence{}
		f.armed.Store(again)
		id, err := w.node.Submit(w.ctx, "b", "key", []byte(request), 0)
		if err != nil || id == before {
			t.Fatalf("for %s a user gets %v, %v; the one before was %v", request, id, err, before)
		}
		if again && f.armed.Load() {
			t.Fatal("nobody has asked for the key, so that this shows nothing")
		}
		if err := w.node.Cancel(w.ctx, "b", id); err != nil {
			t.Fatal(err)
		}
		if r, err := w.node.Wait(w.ctx, "b", "key"); err != nil || r.Confirmed {
			t.Fatalf("it ends as %+v, %v; want it reverted", r, err)
		}
		before = id
	}
}
