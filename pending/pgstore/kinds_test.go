package pgstore

import (
	"slices"
	"strconv"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// Changes share a kind if they differ in the slot and its hash alone: whatever else differs is stored for each.
func TestKindsOfChanges(t *testing.T) {
	t.Parallel()
	same := pending.Change{Index: 1, Hash: "a", Status: pending.InBlock, Block: chain.Block{Number: 5, Hash: "five"}}
	other := same
	other.Index, other.Hash = 2, "b"
	changes, want := []pending.Change{same, other}, []int32{1, 1}
	for i, change := range []func(*pending.Change){
		func(c *pending.Change) { c.Status = pending.Finalized },
		func(c *pending.Change) { c.Block.Number = 6 },
		func(c *pending.Change) { c.Block.Hash = "six" },
		func(c *pending.Change) { c.Block = chain.Block{} },
		func(c *pending.Change) { c.Intent = pending.Done },
		func(c *pending.Change) { c.Failed = true },
		func(c *pending.Change) { c.Why = "why" },
		func(c *pending.Change) { c.Witnesses[0] = "first" },
		func(c *pending.Change) { c.Witnesses[1] = "second" },
		func(c *pending.Change) { c.Waits = "waits" },
	} {
		c := same
		change(&c)
		changes, want = append(changes, c, c), append(want, int32(i+2), int32(i+2))
	}
	k := newKinds(changes)
	if !slices.Equal(k.kinds, want) {
		t.Errorf("the kinds are %v, want %v", k.kinds, want)
	}
	n := int(want[len(want)-1])
	for name, got := range map[string]int{
		"states": len(k.states), "fates": len(k.fates), "reasons": len(k.whys), "waits": len(k.waits), "first witnesses": len(k.firsts),
		"second witnesses": len(k.seconds), "blocks": len(k.blocks), "numbers": len(k.numbers), "failed": len(k.failed),
	} {
		if got != n {
			t.Errorf("there are %d %s of %d kinds", got, name, n)
		}
	}
	if k.blocks[0] == nil || k.blocks[4] != nil {
		t.Error("only a change without a block has none")
	}
}

// An endpoint may say something else of each slot. A statement has few kinds all the same, and no change is left out.
func TestManyKindsOfChanges(t *testing.T) {
	t.Parallel()
	var changes []pending.Change
	for i := range 3*mostKinds + 1 {
		one := pending.Change{Index: uint64(i), Waits: strconv.Itoa(i)}
		changes = append(changes, one, one)
	}
	var nonces []int64
	for rest := changes; len(rest) > 0; {
		k := newKinds(rest)
		if len(k.kinds) == 0 || len(k.states) > mostKinds {
			t.Fatalf("a statement has %d changes of %d kinds", len(k.kinds), len(k.states))
		}
		nonces, rest = append(nonces, k.nonces...), rest[len(k.kinds):]
	}
	for i, n := range nonces {
		if n != int64(changes[i].Index) {
			t.Fatalf("change %d is of the nonce %d, want %d", i, n, changes[i].Index)
		}
	}
	if len(nonces) != len(changes) {
		t.Errorf("%d changes of %d are stored", len(nonces), len(changes))
	}
}
