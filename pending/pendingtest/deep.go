package pendingtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// S20: beyond the newest slots, those in blocks come as runs: of nonces next to each other, in one block and of one
// status. All others come alone.
func olderOnesAreRuns(t *testing.T, f Fixture) {
	placed := func(index, block uint64, status pending.Status) pending.Change {
		c := pending.Change{Index: index, Status: status, Hash: attempt(index, "a").Hash}
		if block > 0 {
			c.Block = chain.Block{Number: block, Hash: chain.Hash(fmt.Sprint("b", block))}
		}
		return c
	}
	var b pending.Batch
	for index := range uint64(14) {
		in := f.accept(t, fmt.Sprint(index), int(index))
		b.New = append(b.New, slot(index, &in.ID))
	}
	waits := placed(8, 5, pending.InBlock)
	waits.Waits = "something"
	b.Changes = []pending.Change{
		final(0, pending.Finalized, pending.Done),
		placed(1, 3, pending.InBlock), placed(2, 3, pending.InBlock), placed(3, 3, pending.FinalityTimeout),
		placed(4, 4, pending.InBlock), placed(5, 0, pending.Ready), placed(6, 4, pending.InBlock), placed(7, 4, pending.InBlock),
		waits, placed(9, 4, pending.InBlock), placed(10, 4, pending.InBlock), placed(11, 4, pending.InBlock), placed(12, 0, pending.Retracted),
	} // the last one is only signed
	f.write(t, b)
	for most, want := range map[int]string{
		3:   "slots 5 8 11 12 13; runs 1-2@3 3-3@3! 4-4@4 6-7@4 9-10@4",
		0:   "slots 5 8 12 13; runs 1-2@3 3-3@3! 4-4@4 6-7@4 9-11@4",
		12:  "slots 2 3 4 5 6 7 8 9 10 11 12 13; runs 1-1@3",
		13:  "slots 1 2 3 4 5 6 7 8 9 10 11 12 13; runs",
		100: "slots 1 2 3 4 5 6 7 8 9 10 11 12 13; runs",
	} {
		snap, err := f.Store.Load(t.Context(), Account, 100, most)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(snap); got != want || snap.Next != 14 {
			t.Errorf("the newest %d: got %s, next nonce %d; want %s", most, got, snap.Next, want)
		}
	}
	snap, err := f.Store.Load(t.Context(), Account, 0, 3)
	if err != nil || len(snap.Slots) != 6 || !snap.Slots[0].Final {
		t.Errorf("loaded %+v, error %v; want the final one too", snap, err)
	}
}

func told(snap pending.Snapshot) string {
	var got strings.Builder
	got.WriteString("slots")
	for _, s := range snap.Slots {
		fmt.Fprintf(&got, " %d", s.Index)
	}
	got.WriteString("; runs")
	for _, r := range snap.Runs {
		fmt.Fprintf(&got, " %d-%d@%d", r.First, r.Last, r.Block.Number)
		if r.Late {
			got.WriteString("!")
		}
		if want := chain.Hash(fmt.Sprint("b", r.Block.Number)); r.Block.Hash != want {
			fmt.Fprintf(&got, " (hash %s, want %s)", r.Block.Hash, want)
		}
	}
	return got.String()
}

// S20: the slots of a range come as Load returns them, final or not.
func aRangeOfSlots(t *testing.T, f Fixture) {
	var b pending.Batch
	var last pending.ID
	for _, index := range []uint64{0, 1, 2, 4, 5} { // 3 is a gap
		in := f.accept(t, fmt.Sprint(index), int(index))
		b.New = append(b.New, slot(index, &in.ID))
		last = in.ID
	}
	f.write(t, b)
	f.write(t, pending.Batch{
		Attempts: []pending.Slot{{Index: 2, Before: 1, Attempts: []chain.Signed{attempt(2, "b")}}},
		Changes:  []pending.Change{final(1, pending.Finalized, pending.Done)},
	})
	slots, err := f.Store.Slots(t.Context(), Account, 1, 4)
	if err != nil || len(slots) != 3 || slots[0].Index != 1 || slots[1].Index != 2 || slots[2].Index != 4 {
		t.Fatalf("loaded %+v, error %v; want the nonces 1, 2 and 4", slots, err)
	}
	if !slots[0].Final || slots[0].Last.Block.Number != 3 || slots[1].Final || len(slots[1].Attempts) != 2 || slots[1].Attempts[1].Hash != "2b" || slots[1].Since != 7 {
		t.Errorf("loaded %+v, want the first final in block 3, the second with two attempts", slots)
	}
	if err := f.Store.Cancel(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if slots, err := f.Store.Slots(t.Context(), Account, 4, 5); err != nil || len(slots) != 2 || slots[0].Cancel || !slots[1].Cancel {
		t.Errorf("loaded %+v, error %v; want the second to be cancelled", slots, err)
	}
	if none, err := f.Store.Slots(t.Context(), "somebody else's", 0, 9); err != nil || len(none) != 0 {
		t.Errorf("of an unknown account: loaded %+v, error %v; want none", none, err)
	}
}
