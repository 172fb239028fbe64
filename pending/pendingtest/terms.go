package pendingtest

import (
	"math/big"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// How an intent is to be sent, and until when, is kept: in the queue, in its slot, and for people; with a space its slot has no deadline.
// What is called back stays so, whatever the clock says later, and ends as expired.
func termsAndDeadlinesAreKept(t *testing.T, f Fixture) {
	terms := pending.Terms{Speed: chain.Fast, MaxFee: new(big.Int).Lsh(big.NewInt(1), 200)}
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	accept := func(in pending.Intent) *pending.ID {
		in.Account, in.Call = Account, call(1)
		out, err := f.Store.Accept(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return &out.ID
	}
	whole := accept(pending.Intent{Terms: terms, LastBlock: 90, ValidUntil: until})
	own := accept(pending.Intent{Space: "conch", Terms: terms, LastBlock: 90, ValidUntil: until})
	plain := accept(pending.Intent{})
	q, err := f.Store.Queue(t.Context(), Account, false, 9)
	if err != nil || len(q.Oldest) != 3 {
		t.Fatalf("queue %+v, error %v", q, err)
	}
	same := func(what string, got pending.Terms, want pending.Terms) {
		t.Helper()
		if got.Speed != want.Speed || (got.MaxFee == nil) != (want.MaxFee == nil) || got.MaxFee != nil && got.MaxFee.Cmp(want.MaxFee) != 0 {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	timely := func(left time.Duration) bool { return left > 50*time.Minute && left <= time.Hour }
	same("queued", q.Oldest[0].Terms, terms)
	same("queued without", q.Oldest[2].Terms, pending.Terms{})
	if !timely(q.Oldest[0].Left) || q.Oldest[1].Space != "conch" || q.Oldest[2].Left != 0 {
		t.Errorf("queued with %v, %q and %v left; want an hour, the space, and none", q.Oldest[0].Left, q.Oldest[1].Space, q.Oldest[2].Left)
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, whole), slot(1, own), slot(2, plain)}})
	snap := f.load(t, 0)
	same("in a slot", snap.Slots[0].Terms, terms)
	same("in a slot without", snap.Slots[2].Terms, pending.Terms{})
	if d := snap.Slots[0].Deadline; d.LastBlock != 90 || !timely(d.Left) || d.Late {
		t.Errorf("the slot has %+v, want both deadlines", d)
	}
	for i := 1; i < 3; i++ {
		if d := snap.Slots[i].Deadline; d != (pending.Deadline{}) {
			t.Errorf("slot %d has %+v, want no deadline", i, d)
		}
	}
	r := f.record(t, *whole)
	if same("shown", r.Terms, terms); r.LastBlock != 90 || !r.ValidUntil.Equal(until) || r.Late {
		t.Errorf("shown are %d, %v and %v", r.LastBlock, r.ValidUntil, r.Late)
	}
	f.write(t, pending.Batch{Expired: []pending.ID{*whole}})
	if r, d := f.record(t, *whole), f.load(t, 0).Slots[0].Deadline; !r.Late || !d.Late || r.Fate != pending.Open {
		t.Errorf("called back, it is %v with %v, and its slot %+v", r.Standing(), r.Late, d)
	}
	f.Events(t)
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Status: pending.Usurped, Hash: slot(0, whole).Attempts[0].Hash, Block: chain.Block{Number: 7, Hash: "b"}, Intent: pending.Expired}}})
	if r := f.record(t, *whole); r.Fate != pending.Expired || r.Outcome() != "expired" || r.Why != "" {
		t.Errorf("it is %s, since %q; want it expired", r.Standing(), r.Why)
	}
	if events := f.Events(t); len(events) != 1 || events[0].Kind != pending.ToldFinal || events[0].Outcome() != "expired" {
		t.Errorf("told are %+v, want that it is expired for good", events)
	}
}
