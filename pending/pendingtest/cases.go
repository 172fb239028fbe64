package pendingtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
)

// S20, S23: a new leader finds the nonce, hash, bytes, fee, call and creation height of every slot
// that is not final.
func slotsAreLoadedBack(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(4, &in.ID)}})
	snap := f.load(t, 4)
	if len(snap.Slots) != 1 || snap.Next != 5 || snap.Queued != 0 || snap.Strange {
		t.Fatalf("loaded %+v, want one slot and next nonce 5", snap)
	}
	got, want := snap.Slots[0], slot(4, &in.ID)
	a, b := got.Attempts[0], want.Attempts[0]
	if got.Index != 4 || *got.Intent != in.ID || got.Since != 7 || a.Hash != b.Hash || !bytes.Equal(a.Bytes, b.Bytes) ||
		a.Fee.Max.Cmp(b.Fee.Max) != 0 || a.Fee.Tip.Cmp(b.Fee.Tip) != 0 || a.Gas != b.Gas || a.Filler {
		t.Errorf("stored %+v, loaded %+v", want, got)
	}
	calls, err := f.Store.Calls(t.Context(), Account, []uint64{4, 5})
	if err != nil || len(calls) != 1 || calls[4].Value.Int64() != 1 || calls[4].Gas != 21000 || string(calls[4].To) != "\x01\x02\x03" {
		t.Errorf("calls: got %+v, error %v; want the call of nonce 4", calls, err)
	}
	if r := f.record(t, in.ID); r.Index == nil || *r.Index != 4 || r.Last.Status != pending.Future {
		t.Errorf("record %+v, want nonce 4 and future", r)
	}
}

// S20: a new leader finds in which block its predecessor saw a transaction, and need not ask for it again.
func theLastStateIsLoaded(t *testing.T, f Fixture) {
	in, other := f.accept(t, "k", 1), f.accept(t, "other", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID), slot(1, &other.ID)}})
	placed := pending.Change{
		Index: 0, Status: pending.InBlock, Hash: "0a", Block: chain.Block{Number: 3, Hash: "b3"}, Effect: chain.Effect{Kind: chain.EffectPartly, Why: "a part of it: 1"}, Why: "a reason", Waits: "for something",
	}
	f.write(t, pending.Batch{Changes: []pending.Change{placed, {Index: 1, Status: pending.Ready, Hash: "1a"}}})
	placed.Why = ""
	slots := f.load(t, 0).Slots
	if len(slots) != 2 || slots[0].Last != placed || slots[1].Last != (pending.Change{Index: 1, Status: pending.Ready, Hash: "1a"}) {
		t.Errorf("loaded %+v, want %+v as the last state of the first, and ready for the second", slots, placed)
	}
}

// A call may be larger than a notification (D5).
func bigCalls(t *testing.T, f Fixture) {
	data := bytes.Repeat([]byte{7}, 64<<10)
	in, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: "k", Call: chain.Call{To: []byte{1}, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	big := slot(0, &in.ID)
	big.Attempts[0].Bytes = data
	f.write(t, pending.Batch{New: []pending.Slot{big}})
	if snap := f.load(t, 0); !bytes.Equal(snap.Slots[0].Attempts[0].Bytes, data) {
		t.Error("the bytes came back changed")
	}
}

func attemptsAreAdded(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	filler := attempt(0, "c")
	filler.Filler = true
	f.write(t, pending.Batch{Attempts: []pending.Slot{{Index: 0, Before: 1, Attempts: []chain.Signed{attempt(0, "b")}}}})
	f.write(t, pending.Batch{Attempts: []pending.Slot{{Index: 0, Before: 2, Attempts: []chain.Signed{filler}}}})
	f.wantAttempts(t, "[0a false 0b false 0c true]")
}

func (f Fixture) wantAttempts(t *testing.T, want string) {
	t.Helper()
	var got []string
	for _, a := range f.load(t, 0).Slots[0].Attempts {
		got = append(got, fmt.Sprintf("%s %t", string(a.Hash), a.Filler))
	}
	if fmt.Sprint(got) != want {
		t.Errorf("attempts: got %s, want %s", got, want)
	}
}

// A late write of an attempt is refused once another was stored in its place: the last stored
// attempt must be the dearest.
func lateAttempts(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	f.write(t, pending.Batch{Attempts: []pending.Slot{{Index: 0, Before: 1, Attempts: []chain.Signed{attempt(0, "c")}}}})
	late := pending.Batch{Account: Account, Attempts: []pending.Slot{{Index: 0, Before: 1, Attempts: []chain.Signed{attempt(0, "b")}}}}
	if err := f.Store.Write(t.Context(), f.Current, late); err == nil || errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a late attempt after a dearer one: got error %v, want a refusal other than ErrOvertaken", err)
	}
	f.wantAttempts(t, "[0a false 0c false]")
}

// After Settle a write with a lower number is refused. Otherwise its slot would appear after the
// leader has read the rows, and the leader would not know of it.
func whatWasGivenUpIsRefused(t *testing.T, f Fixture) {
	in, other := f.accept(t, "k", 1), f.accept(t, "other", 2)
	late := pending.Batch{Account: Account, Number: writes.Add(1), New: []pending.Slot{slot(0, &in.ID)}}
	if err := f.Store.Settle(t.Context(), f.Stale, Account, writes.Add(1)); !errors.Is(err, fence.ErrStale) {
		t.Errorf("settling with a stale token: got error %v, want ErrStale", err)
	}
	if err := f.Store.Settle(t.Context(), f.Current, Account, writes.Add(1)); err != nil {
		t.Fatal(err)
	}
	if err := f.Store.Write(t.Context(), f.Current, late); err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a write after it was settled: got error %v, want a refusal other than ErrStale and ErrOvertaken", err)
	}
	if snap := f.load(t, 0); len(snap.Slots) != 0 || snap.Queued != 2 {
		t.Errorf("loaded %+v, want no slot and 2 queued", snap)
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &other.ID)}}) // a later write is carried out
	next := f.Current
	next.Epoch++
	if err := f.Store.Write(t.Context(), next, pending.Batch{Account: Account, Number: 1}); err != nil && !errors.Is(err, fence.ErrStale) {
		t.Errorf("the first write of a successor: got error %v, want none or ErrStale", err)
	}
}

// A write that is carried out after a later one of the same leader does not change the slots that
// the later one has changed, nor their intents.
func aLateSaveSaysNothing(t *testing.T, f Fixture) {
	in, other := f.accept(t, "k", 1), f.accept(t, "other", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID), slot(1, &other.ID)}})
	late := pending.Batch{Account: Account, Number: writes.Add(1), Changes: []pending.Change{
		{Index: 0, Status: pending.Broadcast, Hash: "0a"}, final(1, pending.Finalized, pending.Done),
	}}
	f.write(t, pending.Batch{Changes: []pending.Change{final(0, pending.Finalized, pending.Done)}})
	for range 2 { // twice: the first time must not make it count as new
		if err := f.Store.Write(t.Context(), f.Current, late); err != nil {
			t.Fatal(err)
		}
		if r := f.record(t, in.ID); r.Fate != pending.Done || r.Last.Status != pending.Finalized || r.Last.Block.Number != 3 {
			t.Errorf("changed by a late write: %+v, want done, in final block 3", r)
		}
		if r := f.record(t, other.ID); r.Fate != pending.Done || r.Last.Status != pending.Finalized {
			t.Errorf("no later write has changed this one: %+v, want done and finalized", r)
		}
	}
	if snap := f.load(t, 2); len(snap.Slots) != 0 {
		t.Errorf("loaded %+v, want no open slot", snap)
	}
}

func final(index uint64, status pending.Status, fate pending.Fate) pending.Change {
	return pending.Change{
		Index: index, Status: status, Intent: fate, Hash: attempt(index, "a").Hash, Block: chain.Block{Number: 3, Hash: "b3"}, Effect: chain.EffectOf(false),
	}
}

// S24, S26: the block is stored. A final slot is not loaded again, one with a finality timeout is.
func finalOnesAreLeftOut(t *testing.T, f Fixture) {
	one, two := f.accept(t, "1", 1), f.accept(t, "2", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &one.ID), slot(1, &two.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{
		final(0, pending.Finalized, pending.Done),
		{Index: 1, Status: pending.FinalityTimeout, Hash: "1a", Block: chain.Block{Number: 3, Hash: "b3"}},
	}})
	snap := f.load(t, 5)
	if len(snap.Slots) != 1 || snap.Slots[0].Index != 1 || snap.Next != 2 {
		t.Errorf("loaded %+v, want the slot with a finality timeout and next nonce 2", snap)
	}
	if all := f.load(t, 0); len(all.Slots) != 2 || !all.Slots[0].Final || all.Slots[1].Final {
		t.Errorf("loaded from nonce 0: %+v, want both slots, the first final", all)
	}
	r := f.record(t, one.ID)
	if r.Fate != pending.Done || r.Last.Status != pending.Finalized || r.Last.Block.Number != 3 || r.Last.Hash != "0a" {
		t.Errorf("record %+v, want done and finalized in block 3 with hash 0a", r)
	}
}

// S20: how long ago a state was stored comes with it, and begins anew with another state.
func theAgeOfAState(t *testing.T, f Fixture) {
	in := f.accept(t, "1", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	age := func() time.Duration { return f.load(t, 0).Slots[0].Age }
	const while = 300 * time.Millisecond
	for deadline := time.Now().Add(time.Minute); age() < while; {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute the state is %v old", age())
		}
	}
	began := time.Now()
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Status: pending.InBlock, Hash: attempt(0, "a").Hash, Block: chain.Block{Number: 3, Hash: "b3"}}}})
	if got := age(); got < 0 || got > time.Since(began) {
		t.Errorf("the new state is %v old, and was stored %v ago", got, time.Since(began))
	}
}

func aForeignOneFreesItsIntent(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{final(0, pending.Usurped, pending.Again)}})
	ids, _ := f.queue(t, 9)
	if len(ids) != 1 || ids[0] != in.ID {
		t.Fatalf("queue: got %x, want the intent again", ids)
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(1, &in.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{final(1, pending.Finalized, pending.Done)}})
	if r := f.record(t, in.ID); r.Fate != pending.Done || *r.Index != 1 {
		t.Errorf("record %+v, want done with nonce 1", r)
	}
	if snap := f.load(t, 2); len(snap.Slots) != 0 || snap.Next != 2 {
		t.Errorf("loaded %+v, want no open slot and next nonce 2", snap)
	}
}

func cancelling(t *testing.T, f Fixture) {
	early, late := f.accept(t, "1", 1), f.accept(t, "2", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &late.ID)}})
	for _, in := range []pending.Intent{early, late} {
		if err := f.Store.Cancel(t.Context(), in.ID); err != nil {
			t.Fatal(err)
		}
	}
	if ids, _ := f.queue(t, 9); len(ids) != 0 {
		t.Errorf("queue: %x", ids)
	}
	if r := f.record(t, early.ID); r.Fate != pending.Cancelled {
		t.Errorf("cancelled without a slot: %+v, want the fate cancelled", r)
	}
	if r := f.record(t, late.ID); r.Fate != pending.Open || !r.Cancel {
		t.Errorf("cancelled with a slot: %+v, want the fate open and the request noted", r)
	}
	waits, err := f.Store.Waiting(t.Context(), Account)
	cancels := waits.Cancels
	if err != nil || len(cancels) != 1 || cancels[0] != 0 || !f.load(t, 0).Slots[0].Cancel {
		t.Errorf("slots to be cancelled: got %v, error %v; want nonce 0, also in the snapshot", cancels, err)
	}
	if err := f.Store.Cancel(t.Context(), pending.ID{9}); !errors.Is(err, pending.ErrNotFound) {
		t.Errorf("cancelling an unknown intent: got error %v, want ErrNotFound", err)
	}
}

func rejecting(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: in.ID, Why: "it reverts"}}})
	odd := f.accept(t, "odd", 2)
	f.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: odd.ID, Why: "reverted: no\x00\x00\xff" + strings.Repeat("é", 5000)}}})
	if r := f.record(t, odd.ID); r.Fate != pending.Rejected || !strings.HasPrefix(r.Why, "reverted: no") {
		t.Errorf("rejected with a reason that is not valid text: %+v", r)
	}
	if r := f.record(t, in.ID); r.Fate != pending.Rejected || r.Why != "it reverts" || r.Index != nil {
		t.Errorf("record %+v, want rejected without a slot", r)
	}
	if ids, _ := f.queue(t, 9); len(ids) != 0 {
		t.Errorf("queue: %x", ids)
	}
	gone := f.accept(t, "gone", 3)
	if err := f.Store.Cancel(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	f.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: gone.ID, Why: "it reverts"}}})
	if r := f.record(t, gone.ID); r.Fate != pending.Cancelled || r.Why != "" {
		t.Errorf("cancelled while it was tried: %+v, want it cancelled", r)
	}
}

// The chain's reason for refusing a call is kept while the slot is being filled, whichever leader
// sees the end. Without a reason a standard one is stored.
func rejectedInASlot(t *testing.T, f Fixture) {
	said, silent, done := f.accept(t, "said", 1), f.accept(t, "silent", 2), f.accept(t, "done", 3)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &said.ID), slot(1, &silent.ID), slot(2, &done.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0a", Why: "too\x00 little"}, {Index: 2, Hash: "2a", Why: "no"}}})
	if r := f.record(t, said.ID); r.Fate != pending.Open || !strings.HasPrefix(r.Why, "too") {
		t.Errorf("before the rejection: %+v, want open with a reason", r)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0a", Status: pending.Ready}}})
	f.write(t, pending.Batch{Changes: []pending.Change{
		final(0, pending.Usurped, pending.Rejected), final(1, pending.Usurped, pending.Rejected), final(2, pending.Finalized, pending.Done),
	}})
	if r := f.record(t, said.ID); r.Fate != pending.Rejected || !strings.HasSuffix(r.Why, "little") {
		t.Errorf("after the rejection: %+v, want rejected with the same reason", r)
	}
	if r := f.record(t, silent.ID); r.Fate != pending.Rejected || r.Why != rules.NoWords {
		t.Errorf("rejected without a reason: %+v, want the standard reason", r)
	}
	if r := f.record(t, done.ID); r.Fate != pending.Done || r.Why != "" {
		t.Errorf("done after all: %+v, want done without a reason", r)
	}
}

func staleWritesNothing(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	err := f.Store.Write(t.Context(), f.Stale, pending.Batch{Account: Account, New: []pending.Slot{slot(0, &in.ID)}})
	if !errors.Is(err, fence.ErrStale) {
		t.Fatalf("writing with a stale token: got error %v, want ErrStale", err)
	}
	if snap := f.load(t, 0); len(snap.Slots) != 0 || snap.Queued != 1 {
		t.Errorf("loaded %+v, want no slot and 1 queued", snap)
	}
}

func aSlotIsTakenOnce(t *testing.T, f Fixture) {
	one, two := f.accept(t, "1", 1), f.accept(t, "2", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &one.ID)}})
	err := f.Store.Write(t.Context(), f.Current, pending.Batch{Account: Account, New: []pending.Slot{slot(1, &two.ID), slot(0, &two.ID)}})
	if err == nil {
		t.Fatal("two intents got the same slot")
	}
	if snap := f.load(t, 0); len(snap.Slots) != 1 || snap.Queued != 1 {
		t.Errorf("part of a refused batch was stored: %+v", snap)
	}
}

func gapsAreFilled(t *testing.T, f Fixture) {
	s := slot(3, nil)
	s.Attempts[0].Filler = true
	f.write(t, pending.Batch{New: []pending.Slot{s}})
	f.write(t, pending.Batch{Changes: []pending.Change{final(3, pending.Finalized, pending.Open)}})
	if snap := f.load(t, 4); len(snap.Slots) != 0 || snap.Next != 4 {
		t.Errorf("loaded %+v, want no open slot and next nonce 4", snap)
	}
}

func aFinalOneCanReopen(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{final(0, pending.Finalized, pending.Done)}})
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Status: pending.Retracted, Hash: "0a"}}})
	if snap := f.load(t, 5); len(snap.Slots) != 1 {
		t.Errorf("loaded %+v, want the slot again", snap)
	}
	if r := f.record(t, in.ID); r.Fate != pending.Open || r.Last.Status != pending.Retracted || r.Last.Block.Hash != "" {
		t.Errorf("record %+v, want open and retracted, in no block", r)
	}
}

// An intent cancelled after the queue was read gets no slot, nor do the others of the batch.
func theCancelledGetNoSlot(t *testing.T, f Fixture) {
	first, gone := f.accept(t, "first", 1), f.accept(t, "gone", 2)
	if err := f.Store.Cancel(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	err := f.Store.Write(t.Context(), f.Current, pending.Batch{Account: Account, New: []pending.Slot{slot(0, &first.ID), slot(1, &gone.ID)}})
	if !errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a slot for a cancelled intent: got error %v, want ErrOvertaken", err)
	}
	if r := f.record(t, gone.ID); r.Fate != pending.Cancelled || r.Index != nil {
		t.Errorf("record %+v, want cancelled without a slot", r)
	}
	if snap := f.load(t, 0); len(snap.Slots) != 0 || snap.Queued != 1 {
		t.Errorf("loaded %+v, want no slot and 1 queued", snap)
	}
}

func theUnknownGetNoSlot(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	b := pending.Batch{Account: Account, Number: writes.Add(1), New: []pending.Slot{slot(0, &in.ID), slot(1, &pending.ID{9})}}
	if err := f.Store.Write(t.Context(), f.Current, b); !errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a slot for an unknown intent: got error %v, want ErrOvertaken", err)
	}
	if snap := f.load(t, 0); len(snap.Slots) != 0 || snap.Queued != 1 {
		t.Errorf("loaded %+v, want no slot and 1 queued", snap)
	}
}

// An intent that was to be cancelled and has lost its slot does not wait for another.
func theCancelledAreNotDoneAgain(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	if err := f.Store.Cancel(t.Context(), in.ID); err != nil {
		t.Fatal(err)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{final(0, pending.Usurped, pending.Again)}})
	if r := f.record(t, in.ID); r.Fate != pending.Cancelled {
		t.Errorf("record %+v, want cancelled", r)
	}
	if snap := f.load(t, 1); snap.Queued != 0 {
		t.Errorf("loaded %+v, want nothing queued", snap)
	}
}
