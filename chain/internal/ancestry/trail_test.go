package ancestry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// tree has every block that was ever made, by hash. A hash is the path from the root: block
// "0ab" is the second block above block "0", and each letter is a branch.
type tree map[chain.Hash]chain.Block

func (tr tree) at(way string) chain.Block {
	if way == "" {
		return chain.Block{}
	}
	b := chain.Block{Number: uint64(len(way) - 1), Hash: chain.Hash(way), Parent: chain.Hash(way[:len(way)-1])}
	tr[b.Hash] = b
	tr.at(way[:len(way)-1])
	return b
}

func (tr tree) look(h chain.Hash) (chain.Block, error) {
	b, ok := tr[h]
	if !ok {
		return b, chain.ErrThread
	}
	return b, nil
}

// linked reports whether b is an ancestor of oldest.
func (tr tree) linked(oldest, b chain.Block) (bool, error) {
	return strings.HasPrefix(string(oldest.Hash), string(b.Hash)), nil
}

func say(turns []chain.Turn) string {
	var words []string
	for _, turn := range turns {
		words = append(words, map[chain.TurnKind]string{chain.Applied: "+", chain.Reverted: "-", chain.Finalized: "="}[turn.Kind]+string(turn.Block.Hash))
	}
	return strings.Join(words, " ")
}

func TestTrail(t *testing.T) {
	for _, c := range []struct {
		name  string
		known string // paths of the blocks known at the start
		keep  int
		heads string // in order; "=0a" is a final block named by the chain
		lost  string // blocks that the lookup does not find
		want  string // turns of all heads
		err   error  // error of the last head
	}{
		{name: "begins at the first head", heads: "0abc", want: "+0abc"},
		{name: "each head on top of the last", known: "0", heads: "0a 0ab", want: "+0a +0ab"},
		{name: "the same head twice", known: "0", heads: "0a 0a", want: "+0a"},
		{name: "missed heads", known: "0", heads: "0abc", want: "+0a +0ab +0abc"},
		{name: "a branch of the same height", known: "0 0a", heads: "0x", want: "-0a +0x"},
		{name: "a longer branch", known: "0 0a 0ab", heads: "0axyz", want: "-0ab +0ax +0axy +0axyz"},
		{name: "a shorter branch", known: "0 0a 0ab 0abc", heads: "0x", want: "-0abc -0ab -0a +0x"},
		{name: "the head goes back", known: "0 0a 0ab", heads: "0a 0ab", want: "-0ab +0ab"},
		{name: "the head goes back below what is known", known: "0abc", heads: "0a", want: "-0abc -0ab"},
		{name: "a fork below what is known", known: "0abc", heads: "0axy", want: "-0abc -0ab +0ax +0axy"},
		{name: "a fork whose old side cannot be looked up", known: "0abcd", lost: "0abc", heads: "0ax", err: chain.ErrThread},
		{name: "siblings need no lookup of their parent", known: "0ab", lost: "0a 0", heads: "0ax", want: "-0ab +0ax"},
		{name: "a gap of more blocks than are kept", known: "0", keep: 3, heads: "0abcdefg", err: chain.ErrThread},
		{name: "another chain", known: "0 0a", heads: "1x", err: chain.ErrForeign},
		{name: "a final block is reported when the head reaches it", known: "0", heads: "=0ab 0a 0ab =0ab =0a", want: "+0a +0ab =0ab"},
		{name: "a final block below the first head", heads: "0abc =0a =0ab", want: "+0abc =0a =0ab"},
		{name: "a final block of a dead branch, below the first head", heads: "0abc =0x =0a", want: "+0abc =0a"},
		{name: "a final block that was named beside a head of another branch", known: "0", heads: "0a =0x 0x", want: "+0a -0a +0x"},
		{name: "and is named again", known: "0", heads: "0a =0x 0xyz =0x", want: "+0a -0a +0x +0xy +0xyz =0x"},
		{name: "a final block is reverted", known: "0", heads: "0ab =0ab 0xy =0xy", want: "+0a +0ab =0ab -0ab -0a +0x +0xy =0xy"},
		{name: "a final block is replaced, and no block below it is known", known: "0ab", heads: "=0ab 0ax =0ax", want: "=0ab -0ab +0ax =0ax"},
		{name: "a final block is reverted by a lower head", known: "0", heads: "0ab =0ab 0 =0ab =0 0x =0x", want: "+0a +0ab =0ab -0ab -0a +0x =0x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := tree{}
			var known []chain.Block
			for way := range strings.FieldsSeq(c.known) {
				known = append(known, tr.at(way))
			}
			if c.keep == 0 {
				c.keep = 10
			}
			trail := ancestry.NewTrail(c.keep, known...)
			var got []chain.Turn
			var err error
			for way := range strings.FieldsSeq(c.heads) {
				if final, ok := strings.CutPrefix(way, "="); ok {
					turns, err := trail.TakeFinal(tr.at(final), tr.linked)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, turns...)
					continue
				}
				head := tr.at(way)
				for lost := range strings.FieldsSeq(c.lost) {
					delete(tr, chain.Hash(lost))
				}
				var turns []chain.Turn
				turns, err = trail.TakeHead(head, tr.look)
				got = append(got, turns...)
			}
			if say(got) != c.want {
				t.Errorf("got  %s\nwant %s", say(got), c.want)
			}
			if !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
				t.Errorf("got error %v, want %v", err, c.err)
			}
		})
	}
}

// A caller that goes on after a reverted block does not know the parent of the block below it. If nobody
// does, the thread is lost, and not the block asked for again and again.
func TestAParentThatNobodyKnows(t *testing.T) {
	tr := tree{}
	trail := ancestry.NewTrail(10, chain.Block{Number: 2, Hash: "0ab"})
	if _, err := trail.TakeHead(tr.at("0xy"), tr.look); !errors.Is(err, chain.ErrThread) {
		t.Fatalf("got error %v, want %v", err, chain.ErrThread)
	}
	turns, err := trail.TakeHead(tr.at("0abc"), tr.look)
	if err != nil || say(turns) != "+0abc" {
		t.Errorf("a child of the block: got %s, %v, want it applied", say(turns), err)
	}
}

func TestTrailRefusesAnotherBlock(t *testing.T) {
	tr := tree{}
	trail := ancestry.NewTrail(10, tr.at("0"))
	liar := func(chain.Hash) (chain.Block, error) { return tr.at("0x"), nil }
	if _, err := trail.TakeHead(tr.at("0abc"), liar); !errors.Is(err, chain.ErrThread) {
		t.Fatalf("the lookup gave another block: got error %v, want %v", err, chain.ErrThread)
	}
}

// TestTrailFolds feeds random heads of a growing tree to trails of different memory, with
// failing lookups. The turns have to add up to the chain of the last head.
func TestTrailFolds(t *testing.T) {
	for seed := range uint64(3000) {
		if err := fold(rand.New(rand.NewPCG(seed, 7))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func fold(r *rand.Rand) error {
	tr := tree{}
	tr.at("0")
	ways := []string{"0"}
	trail := ancestry.NewTrail(1 + r.IntN(12))
	var best []chain.Block // the chain that the turns add up to
	for range 40 {
		from := ways[r.IntN(len(ways))]
		if r.IntN(3) > 0 {
			from = ways[len(ways)-1]
		}
		way := from + strings.Repeat(string(rune('a'+r.IntN(20))), r.IntN(5))
		ways = append(ways, way)
		head := tr.at(way)
		down := r.IntN(10) == 0
		turns, err := trail.TakeHead(head, func(h chain.Hash) (chain.Block, error) {
			if down {
				return chain.Block{}, chain.ErrUnreachable
			}
			return tr.look(h)
		})
		if err != nil {
			if !down && !errors.Is(err, chain.ErrThread) || len(turns) > 0 {
				return fmt.Errorf("head %s: %w with turns %s", way, err, say(turns))
			}
			continue
		}
		if best, err = apply(best, turns); err != nil {
			return fmt.Errorf("head %s: %w in %s", way, err, say(turns))
		}
		if last := best[len(best)-1]; last != head {
			return fmt.Errorf("head %s: the turns %s lead to %s", way, say(turns), last.Hash)
		}
		named := tr.at(way[:1+r.IntN(len(way))])
		if r.IntN(4) == 0 { // of a dead branch, as one of several backends may say
			other := ways[r.IntN(len(ways))]
			named = tr.at(other[:1+r.IntN(len(other))])
		}
		turns, err = trail.TakeFinal(named, tr.linked)
		if err != nil {
			return err
		}
		for _, turn := range turns {
			if turn.Kind != chain.Finalized || !strings.HasPrefix(way, string(turn.Block.Hash)) {
				return fmt.Errorf("head %s: got final %s, which is not below it", way, say([]chain.Turn{turn}))
			}
		}
	}
	return nil
}

// apply applies turns to the chain best, whose first block may have any height. Blocks
// below that are derived from its hash.
func apply(best []chain.Block, turns []chain.Turn) ([]chain.Block, error) {
	floor := len(best) == 0
	for _, turn := range turns {
		last := len(best) - 1
		switch turn.Kind {
		case chain.Reverted:
			if last >= 0 && best[last] != turn.Block {
				return nil, fmt.Errorf("got %s reverted, want %s, the head", turn.Block.Hash, best[last].Hash)
			}
			best = best[:max(last, 0)]
			if len(best) == 0 {
				best, floor = []chain.Block{{Number: turn.Block.Number - 1, Hash: turn.Block.Parent, Parent: turn.Block.Parent[:max(0, len(turn.Block.Parent)-1)]}}, false
			}
		case chain.Applied:
			if !floor && best[last].Hash != turn.Block.Parent {
				return nil, fmt.Errorf("got %s applied, want a block on %s, the head", turn.Block.Hash, best[last].Hash)
			}
			best, floor = append(best, turn.Block), false
		case chain.Finalized:
		}
	}
	return slices.Clone(best), nil
}
