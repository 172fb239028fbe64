package pgstore

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// Changes are of one kind if they differ in the slot and its hash alone: whatever else differs is stored for each.
func TestKindsOfChanges(t *testing.T) {
	t.Parallel()
	same := pending.Change{Index: 1, Hash: "a", Status: pending.InBlock, Block: chain.Block{Number: 5, Hash: "five"}}
	other := same
	other.Index, other.Hash = 2, "b"
	changes, want := []pending.Change{same, other}, []int32{1}
	for i, change := range []func(*pending.Change){
		func(c *pending.Change) { c.Status = pending.Finalized },
		func(c *pending.Change) { c.Block.Number = 6 },
		func(c *pending.Change) { c.Block.Hash = "six" },
		func(c *pending.Change) { c.Block = chain.Block{} },
		func(c *pending.Change) { c.Intent = pending.Done },
		func(c *pending.Change) { c.Effect = chain.EffectOf(true) },
		func(c *pending.Change) { c.Why = "why" },
		func(c *pending.Change) { c.Witnesses[0] = "first" },
		func(c *pending.Change) { c.Witnesses[1] = "second" },
		func(c *pending.Change) { c.Waits = "waits" },
	} {
		c := same
		change(&c)
		c.Index = changes[len(changes)-1].Index + 1
		next := c
		next.Index++
		changes, want = append(changes, c, next), append(want, int32(i+2))
	}
	s, left := newSpans(changes)
	if !slices.Equal(s.kinds, want) || len(left) > 0 {
		t.Errorf("the kinds are %v, want %v; %d changes are left", s.kinds, want, len(left))
	}
	for name, got := range map[string]int{
		"states": len(s.states), "fates": len(s.fates), "reasons": len(s.whys), "waits": len(s.waits), "first witnesses": len(s.witnesses),
		"second witnesses": len(s.others), "blocks": len(s.blocks), "numbers": len(s.numbers), "effects": len(s.effects),
	} {
		if got != len(want) {
			t.Errorf("there are %d %s of %d kinds", got, name, len(want))
		}
	}
	if s.blocks[0] == nil || s.blocks[4] != nil {
		t.Error("only a change without a block has none")
	}
}

// What a statement gets says of each slot what its change said: also of slots that are not beside each other, or whose
// hashes are not as long as that of the slot before.
func TestSpansSayWhatTheChangesSay(t *testing.T) {
	t.Parallel()
	var changes []pending.Change
	for i, hash := range []chain.Hash{"aa", "bb", "cc", "d", "e", "", "ff", "gg", "hh", "ii"} {
		c := pending.Change{Index: uint64(i), Hash: hash, Status: pending.InBlock, Block: chain.Block{Number: 5, Hash: "five"}}
		if i >= 7 {
			c.Index += 10
		}
		if i == 8 {
			c.Block = chain.Block{Number: 6, Hash: "six"}
		}
		changes = append(changes, c)
	}
	changes = append(changes, pending.Change{Index: 2}, changes[9]) // not in order, and once more
	s, left := newSpans(changes)
	var got []pending.Change
	for i, first := range s.firsts {
		for n := first; n <= s.lasts[i]; n++ {
			k := s.kinds[i] - 1
			at := s.offsets[i] + int32(n-first)*s.lengths[i]
			c := pending.Change{Index: uint64(n), Hash: chain.Hash(s.hashes[at : at+s.lengths[i]]), Block: chain.Block{Number: uint64(s.numbers[k]), Hash: chain.Hash(s.blocks[k])}}
			if err := c.Status.UnmarshalText([]byte(s.states[k])); err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
	}
	if !slices.Equal(got, changes) || len(left) > 0 {
		t.Errorf("the spans say\n%+v, want\n%+v; %d changes are left", got, changes, len(left))
	}
	if want := 9; len(s.firsts) != want {
		t.Errorf("there are %d spans from %v to %v, want %d", len(s.firsts), s.firsts, s.lasts, want)
	}
}

// An endpoint may say something else of each slot. A statement has few kinds all the same, and no change is left out.
func TestManyKindsOfChanges(t *testing.T) {
	t.Parallel()
	var changes []pending.Change
	for i := range uint64(3*mostKinds + 1) {
		one := pending.Change{Index: 2 * i, Waits: strconv.Itoa(int(i))}
		other := one
		other.Index++
		changes = append(changes, one, other)
	}
	var got []string
	for rest := changes; len(rest) > 0; {
		s, left := newSpans(rest)
		if len(left) == len(rest) || len(s.states) > mostKinds {
			t.Fatalf("a statement has %d changes of %d kinds", len(rest)-len(left), len(s.states))
		}
		for i, kind := range s.kinds {
			got = append(got, fmt.Sprint(s.firsts[i], s.lasts[i], s.waits[kind-1]))
		}
		rest = left
	}
	for i := range 3*mostKinds + 1 {
		if want := fmt.Sprint(2*i, 2*i+1, strconv.Itoa(i)); i >= len(got) || got[i] != want {
			t.Fatalf("span %d of %d is not %q", i, len(got), want)
		}
	}
}
