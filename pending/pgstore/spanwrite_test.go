package pgstore_test

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// One span may have slots that were final and slots that were not: the intents of the former are open again, and a slot
// that loses its intent gives back its own. Each slot keeps its own hash. What a later write has changed stays.
func TestOneSpanOfDifferentSlots(t *testing.T) {
	t.Parallel()
	const many = 12 // the hashes of the last ones are longer
	s := openShelf(t)
	var all pending.Batch
	var intents []pending.Intent
	for i := range uint64(many) {
		intents = append(intents, s.accept(fmt.Sprint(i)))
		all.New = append(all.New, slotOf(i, intents[i]))
	}
	s.write(all)
	change := func(as pending.Change, indices ...uint64) (b pending.Batch) {
		for _, i := range indices {
			as.Index, as.Hash = i, hashOf(i)
			b.Changes = append(b.Changes, as)
		}
		return b
	}
	every := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	done := pending.Change{Status: pending.Finalized, Intent: pending.Done, Block: chain.Block{Number: 1, Hash: "b"}}
	back := pending.Change{Status: pending.InBlock, Block: chain.Block{Number: 2, Hash: "c"}}
	check := func(when string, fates map[pending.Fate]int, queued int) {
		t.Helper()
		got := map[pending.Fate]int{}
		for i, in := range intents {
			r, err := s.Get(t.Context(), in.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got[r.Fate]++; r.Last.Hash != "" && r.Last.Hash != hashOf(uint64(i)) {
				t.Errorf("%s: slot %d has the hash %q", when, i, r.Last.Hash)
			}
		}
		w, err := s.Waiting(t.Context(), pendingtest.Account)
		if fmt.Sprint(got) != fmt.Sprint(fates) || err != nil || w.Queued != queued {
			t.Errorf("%s: the fates are %v and %d wait, error %v; want %v and %d", when, got, w.Queued, err, fates, queued)
		}
	}
	late := change(back, every...)
	late.Account, late.Number = pendingtest.Account, writes.Add(1)
	s.write(change(done, 1, 2, 5, 10))
	check("some are final", map[pending.Fate]int{pending.Done: 4, pending.Open: 8}, 0)
	if err := s.Write(t.Context(), current, late); err != nil {
		t.Fatal(err)
	}
	check("a late write has come", map[pending.Fate]int{pending.Done: 4, pending.Open: 8}, 0)
	if snap, err := s.Load(t.Context(), pendingtest.Account, 100, 100); err != nil || len(snap.Slots) != many-4 || snap.Slots[0].Last.Status != pending.InBlock {
		t.Errorf("after a late write, %d slots are loaded, error %v; want %d, in a block", len(snap.Slots), err, many-4)
	}
	s.write(change(back, every...))
	check("all ends are taken back", map[pending.Fate]int{pending.Open: many}, 0)
	s.write(change(done, 3, 4))
	s.write(change(pending.Change{Status: pending.Usurped, Intent: pending.Again}, every...))
	check("all have lost their slots", map[pending.Fate]int{pending.Open: many}, many)
}
