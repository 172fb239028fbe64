package pending

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// counts is a chain that has two counts and nothing else.
type counts struct {
	chain.Chain
	final, best uint64
}

func (c counts) Next(_ context.Context, _ chain.Account, at chain.Level) (uint64, error) {
	if at == chain.Final {
		return c.final, nil
	}
	return c.best, nil
}

// from notes from which slot on it is read.
type from struct {
	*Memory
	read []uint64
}

func (s *from) Load(ctx context.Context, a chain.Account, index uint64) (Snapshot, error) {
	s.read = append(s.read, index)
	return s.Memory.Load(ctx, a, index)
}

// What was final a moment ago says from where on to read, before the chain has answered;
// unless the chain has taken that back (S20).
func TestRowsAreReadFromWhatWasFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		floor       uint64
		known       bool
		final, best uint64
		read        []uint64
	}{
		"not known":         {0, false, 7, 9, []uint64{7}},
		"final before":      {5, true, 7, 9, []uint64{5}},
		"taken back":        {8, true, 7, 9, []uint64{8, 7}},
		"a node far behind": {8, true, 8, 2, []uint64{8, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &from{Memory: &Memory{}}
			l := &loop{
				Config: Config{Account: "a", Chain: counts{final: c.final, best: c.best}, Store: store, Longest: time.Second},
				floor:  func() (uint64, bool) { return c.floor, c.known },
			}
			in, err := l.perform(t.Context(), Load{})
			if loaded, is := in.(Loaded); err != nil || !is || loaded.Final != c.final || loaded.Best != c.best || !slices.Equal(store.read, c.read) {
				t.Errorf("%+v, read from %v, want %v; %v", in, store.read, c.read, err)
			}
		})
	}
}
