package pending_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	pendingtest.Exercise(t, func(*testing.T) pendingtest.Fixture {
		current := fence.Token{Scope: "s", Epoch: 2, Holder: "a"}
		passed, told := time.Duration(0), []pending.Event(nil)
		return pendingtest.Fixture{
			Current: current, Stale: fence.Token{Scope: "s", Epoch: 1, Holder: "b"},
			Pass: func(_ *testing.T, d time.Duration) { passed += d },
			Events: func(*testing.T) []pending.Event {
				defer func() { told = nil }()
				return told
			},
			Store: &pending.Memory{Told: func(e pending.Event) { told = append(told, e) }, Now: func() time.Time { return time.Now().Add(passed) }, Fence: func(t fence.Token) error {
				if t.Epoch != current.Epoch {
					return fence.ErrStale
				}
				return nil
			}},
		}
	})
}

// A write of an earlier term that comes after one of a later one says nothing, whatever its number is: each term counts its own.
func TestAnEarlierTermSaysNothing(t *testing.T) {
	t.Parallel()
	store := &pending.Memory{}
	in, err := store.Accept(t.Context(), pending.Intent{Account: "a"})
	if err != nil {
		t.Fatal(err)
	}
	final := pending.Change{Hash: "0a", Status: pending.Finalized, Intent: pending.Done}
	for _, w := range []struct {
		epoch int64
		batch pending.Batch
	}{
		{2, pending.Batch{Number: 1, New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{{Hash: "0a"}}}}}},
		{2, pending.Batch{Number: 2, Changes: []pending.Change{final}}},
		{1, pending.Batch{Number: 9, Changes: []pending.Change{{Hash: "0a", Status: pending.Ready}}}},
	} {
		w.batch.Account = "a"
		if err := store.Write(t.Context(), fence.Token{Epoch: w.epoch}, w.batch); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := store.Get(t.Context(), in.ID); err != nil || r.Fate != pending.Done {
		t.Errorf("it is %v, error %v, want it done", r.Fate, err)
	}
}
