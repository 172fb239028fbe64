package pending

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// slowSigner signs one draft, and for the next waits for somebody who does not come.
type slowSigner struct{ chain.Chain }

func (slowSigner) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	<-ctx.Done()
	signed := make([]chain.Prepared, len(drafts))
	for i, d := range drafts {
		signed[i].Signed = chain.Signed{Account: d.Account, Index: d.Index, Hash: chain.Hash(fmt.Sprint(d.Index)), Bytes: []byte("x")}
		if i > 0 {
			signed[i].Err = fmt.Errorf("%w: %w", chain.ErrKey, context.Cause(ctx))
		}
	}
	return signed, nil
}

// mortal is a store that takes no write from whoever has no time left.
type mortal struct{ *Memory }

func (s mortal) Write(ctx context.Context, t fence.Token, b Batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.Memory.Write(ctx, t, b)
}

// What a slow signer has signed in its time is stored, though that time is up: thrown
// away, the same would be signed for again and again.
func TestWhatWasSignedInTimeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := mortal{&Memory{}}
		for range 3 {
			if _, err := store.Accept(t.Context(), Intent{Account: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		l := &loop{
			Config: Config{Account: "a", Chain: slowSigner{}, Store: store, Longest: time.Second},
			gate:   fence.Standalone("s", "h"),
		}
		in, err := l.perform(t.Context(), Assign{First: 0, Most: 3})
		stored, is := in.(Stored)
		if err != nil || !is || len(stored.Slots) != 1 || !errors.Is(stored.Hold, chain.ErrKey) || stored.Left != 2 {
			t.Fatalf("%+v, %v", in, err)
		}
		if n := len(store.Attempts("a")); n != 1 {
			t.Errorf("%d attempts are stored", n)
		}
		in, err = l.perform(t.Context(), Replace{Wishes: []Wish{{Index: 0, Before: 1}, {Index: 1, Filler: true, New: true}}})
		if stored, is = in.(Stored); err != nil || !is || len(stored.Slots) != 1 {
			t.Fatalf("%+v, %v", in, err)
		}
		if n := len(store.Attempts("a")); n != 2 {
			t.Errorf("%d attempts are stored", n)
		}
	})
}
