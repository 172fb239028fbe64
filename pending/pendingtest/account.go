package pendingtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// What was signed for a nonce is told in the order of signing, without its bytes.
func attemptsAreTold(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(4, &in.ID)}})
	filler := attempt(4, "b")
	filler.Filler = true
	f.write(t, pending.Batch{Attempts: []pending.Slot{{Index: 4, Before: 1, Attempts: []chain.Signed{filler}}}})
	all, err := f.Store.Attempts(t.Context(), Account, 4)
	var got []string
	for i, a := range all {
		got = append(got, fmt.Sprint(string(a.Hash), a.Fee.Max, a.Fee.Tip, a.Gas, a.Filler))
		if ago := time.Since(a.Signed); ago < -time.Minute || ago > time.Minute || i > 0 && a.Signed.Before(all[i-1].Signed) {
			t.Errorf("attempt %d: signed at %v, after %+v", i, a.Signed, all)
		}
	}
	if want := "[4a2000000000 100 21000 false 4b2000000000 100 21000 true]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	for _, other := range []struct {
		account chain.Account
		index   uint64
	}{{Account, 5}, {"somebody else's", 4}} {
		if none, err := f.Store.Attempts(t.Context(), other.account, other.index); err != nil || len(none) > 0 {
			t.Errorf("nonce %d of %q: got %v, %v, want none", other.index, other.account, none, err)
		}
	}
}

// What of an account has not ended is counted by where it is, and the oldest that is in no block is told, whatever holds it up.
func theBacklogIsCounted(t *testing.T, f Fixture) {
	is := func(when, want string, oldest *pending.Intent) {
		t.Helper()
		b, err := f.Store.Backlog(t.Context(), Account)
		got := fmt.Sprint("next ", b.Next, ", queued ", b.Queued, ", in flight ", b.InFlight, ", gaps ", b.Gaps, ", in block ", b.InBlock, ", held ", b.Hold.Why)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", when, got, err, want)
		}
		if oldest == nil != b.Oldest.IsZero() || oldest != nil && b.Oldest.Sub(oldest.Created).Abs() > time.Microsecond {
			t.Errorf("%s: the oldest is of %v, want %+v", when, b.Oldest, oldest)
		}
	}
	is("nothing", "next 0, queued 0, in flight 0, gaps 0, in block 0, held ", nil)
	var all []*pending.Intent
	for n := range 5 {
		in := f.accept(t, fmt.Sprint(n), n)
		all = append(all, &in)
	}
	is("all wait", "next 0, queued 5, in flight 0, gaps 0, in block 0, held ", all[0])
	f.write(t, pending.Batch{
		New:  []pending.Slot{slot(7, &all[0].ID), slot(8, &all[1].ID), slot(9, &all[2].ID)},
		Hold: &pending.Hold{Intent: all[3].ID, Why: "poor"},
		Held: []pending.Held{{Intent: all[3].ID, Refusal: pending.Refusal{Cause: pending.Funds, Why: "poor", Times: 1}, Pause: time.Minute}},
	})
	is("three have nonces", "next 10, queued 2, in flight 3, gaps 0, in block 0, held poor", all[0])
	inBlock := pending.Change{Index: 8, Status: pending.InBlock, Hash: "8a", Block: chain.Block{Number: 3, Hash: "b3"}}
	f.write(t, pending.Batch{Changes: []pending.Change{final(7, pending.Finalized, pending.Done), inBlock}})
	is("one is final, one is in a block", "next 10, queued 2, in flight 1, gaps 0, in block 1, held poor", all[2])
	inBlock.Index, inBlock.Hash = 9, "9a"
	f.write(t, pending.Batch{Changes: []pending.Change{inBlock}, Hold: &pending.Hold{}})
	is("none is in flight", "next 10, queued 2, in flight 0, gaps 0, in block 2, held ", all[3])
	if err := f.Store.Cancel(t.Context(), all[3].ID); err != nil {
		t.Fatal(err)
	}
	is("one is cancelled", "next 10, queued 1, in flight 0, gaps 0, in block 2, held ", all[4])
	f.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: all[4].ID, Why: "no"}}, Changes: []pending.Change{
		final(8, pending.Finalized, pending.Done), {Index: 9, Status: pending.Retracted, Hash: "9a"},
	}})
	is("one has left its block", "next 10, queued 0, in flight 1, gaps 0, in block 0, held ", all[2])
	f.write(t, pending.Batch{Changes: []pending.Change{final(9, pending.Finalized, pending.Done)}})
	is("all have ended", "next 10, queued 0, in flight 0, gaps 0, in block 0, held ", nil)
	f.write(t, pending.Batch{New: []pending.Slot{slot(10, nil)}})
	is("a gap is filled", "next 11, queued 0, in flight 1, gaps 1, in block 0, held ", nil)
	inBlock.Index, inBlock.Hash = 10, "10a"
	f.write(t, pending.Batch{Changes: []pending.Change{inBlock}})
	is("what fills it is in a block", "next 11, queued 0, in flight 0, gaps 0, in block 1, held ", nil)
}

// When the state of a slot was stored is told with its intent; one that has no slot has no such time.
func theLastChangeIsDated(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	changed := func() time.Time {
		t.Helper()
		r, err := f.Store.Get(t.Context(), in.ID)
		if err != nil {
			t.Fatal(err)
		}
		return r.Changed
	}
	if at := changed(); !at.IsZero() {
		t.Errorf("without a slot it was changed at %v", at)
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(4, &in.ID)}})
	first := changed()
	f.write(t, pending.Batch{Changes: []pending.Change{final(4, pending.Finalized, pending.Done)}})
	last := changed()
	if first.Before(in.Created) || last.Before(first) || first.IsZero() {
		t.Errorf("accepted at %v, changed at %v and at %v: want them in this order", in.Created, first, last)
	}
}
