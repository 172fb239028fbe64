package ancestry_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// W1: a block is an ancestor by parent hashes and not by its number.
func TestThread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lost string // blocks that the lookup does not find
		tops string // each becomes the newest block
		sink uint64
		has  string
		not  string
		err  error
	}{
		{name: "one block", tops: "0abc", sink: 9, has: "0abc", not: "0ab 0"},
		{name: "down to a height", tops: "0abc", sink: 1, has: "0abc 0ab 0a", not: "0 0x 0abcd"},
		{name: "a block of the same height on a dead branch", tops: "0abc", sink: 0, has: "0 0a", not: "0x 0ax 0abx"},
		{name: "up over several blocks", tops: "0a 0abcd", sink: 0, has: "0 0a 0ab 0abc 0abcd"},
		{name: "a branch drops what does not lead to it", tops: "0ab 0xyz", sink: 9, has: "0xyz", not: "0ab 0a"},
		{name: "a lower top of another branch", tops: "0abc 0ax", sink: 9, has: "0ax", not: "0abc"},
		{name: "a top that is known already", tops: "0a 0abc 0ab", sink: 9, has: "0abc 0ab 0a"},
		{name: "a block that is not there", lost: "0a", tops: "0abc", sink: 0, has: "0abc", not: "0ab", err: chain.ErrThread},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := tree{}
			var thread ancestry.Thread
			for way := range strings.FieldsSeq(c.tops) {
				tr.at(way)
			}
			for way := range strings.FieldsSeq(c.lost) {
				delete(tr, chain.Hash(way))
			}
			for way := range strings.FieldsSeq(c.tops) {
				if err := thread.RiseTo(tr.at(way), tr.look); err != nil {
					t.Fatal(err)
				}
				for way := range strings.FieldsSeq(c.lost) {
					delete(tr, chain.Hash(way))
				}
			}
			if err := thread.SinkTo(c.sink, tr.look); !errors.Is(err, c.err) {
				t.Errorf("got error %v, want %v", err, c.err)
			}
			for way := range strings.FieldsSeq(c.has) {
				if !thread.Has(tr.at(way)) {
					t.Errorf("%s is not in the thread, want it there", way)
				}
			}
			for way := range strings.FieldsSeq(c.not) {
				if thread.Has(tr.at(way)) {
					t.Errorf("%s is in the thread, want it not there", way)
				}
			}
		})
	}
}

// Whatever way a thread went, what it has are ancestors of its newest block.
func TestThreadHasAncestorsOnly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		tr, ways := tree{}, []string{"0"}
		var thread ancestry.Thread
		for range 20 {
			way := ways[r.IntN(len(ways))] + strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(4))
			ways = append(ways, way)
			down := r.IntN(6) == 0
			look := func(h chain.Hash) (chain.Block, error) {
				if down {
					return chain.Block{}, chain.ErrUnreachable
				}
				return tr.look(h)
			}
			if err := thread.RiseTo(tr.at(way), look); err == nil {
				_ = thread.SinkTo(uint64(r.IntN(6)), look)
				if !thread.Has(tr.at(way)) {
					t.Fatalf("seed %d: the thread lacks %s, which it was raised to", seed, way)
				}
			}
			newest := string(thread.Newest().Hash)
			for _, b := range tr {
				if thread.Has(b) && !strings.HasPrefix(newest, string(b.Hash)) {
					t.Fatalf("seed %d: the thread of %s has %s", seed, newest, b.Hash)
				}
			}
		}
	}
}
