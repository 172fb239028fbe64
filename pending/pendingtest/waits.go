package pendingtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// W2: the two endpoints that called an end final are kept with it, and go if the chain takes it back.
func witnessesAreKept(t *testing.T, f Fixture) {
	in, other := f.accept(t, "k", 1), f.accept(t, "other", 2)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID), slot(1, &other.ID)}})
	want := [2]string{"https://one.example", "https://two.example"}
	end, odd := final(0, pending.Finalized, pending.Done), final(1, pending.Finalized, pending.Done)
	end.Witnesses, odd.Witnesses = want, [2]string{"a\x00\xff", "b"}
	f.write(t, pending.Batch{Changes: []pending.Change{end, odd}})
	if r := f.record(t, in.ID); r.Last.Witnesses != want {
		t.Errorf("record %+v, want the witnesses %q", r, want)
	}
	if r := f.record(t, other.ID); r.Fate != pending.Done || r.Last.Witnesses[1] != "b" {
		t.Errorf("a witness with a name that is not valid text: %+v, want it done", r)
	}
	listed, err := f.Store.List(t.Context(), pending.Filter{Most: 9, State: "finalized"})
	if err != nil || len(listed) != 2 || listed[1].Last.Witnesses != want {
		t.Errorf("listed %+v, error %v; want the witnesses %q", listed, err, want)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Status: pending.Retracted, Hash: "0a"}}})
	if r := f.record(t, in.ID); r.Last.Witnesses != [2]string{} {
		t.Errorf("after the end was taken back: %+v, want no witnesses", r)
	}
}

// W17: what a slot waits for is kept, and goes once it waits no more.
func waitsAreTold(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID)}})
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0a", Waits: "fees: allowed is 100\x00" + strings.Repeat("é", 5000)}}})
	if r := f.record(t, in.ID); !strings.HasPrefix(r.Last.Waits, "fees: allowed is 100") {
		t.Errorf("record %+v, want it to wait because of fees", r)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0a", Status: pending.Ready}}})
	if r := f.record(t, in.ID); r.Last.Waits != "" || r.Last.Status != pending.Ready {
		t.Errorf("record %+v, want it ready and nothing in the way", r)
	}
}

// W17: the hold of an account is shown for every intent that waits for a slot, and for no other.
func holdsAreTold(t *testing.T, f Fixture) {
	sent, poor, behind, gone := f.accept(t, "sent", 1), f.accept(t, "poor", 2), f.accept(t, "behind", 3), f.accept(t, "gone", 4)
	want := func(want pending.Hold, waiting ...pending.Intent) {
		t.Helper()
		for _, in := range waiting {
			if r := f.record(t, in.ID); r.Hold != want {
				t.Errorf("%s is held by %+v, want %+v", in.Key, r.Hold, want)
			}
		}
	}
	hold := pending.Hold{Intent: poor.ID, Why: "it cannot pay"}
	f.write(t, pending.Batch{Hold: &hold, New: []pending.Slot{slot(0, &sent.ID)}})
	if err := f.Store.Cancel(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	want(hold, poor, behind)
	want(pending.Hold{}, sent, gone)
	if snap, err := f.Store.Load(t.Context(), Account, 0, 100); err != nil || snap.Hold != hold { // a new leader replaces it
		t.Errorf("loaded the hold %+v, error %v; want %+v", snap.Hold, err, hold)
	}
	listed, err := f.Store.List(t.Context(), pending.Filter{Most: 9, Standing: pending.Queued})
	if err != nil || len(listed) != 2 || listed[0].Hold != hold || listed[1].Hold != hold {
		t.Errorf("listed %+v, error %v; want two intents held by %+v", listed, err, hold)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0a", Status: pending.Ready}}})
	want(hold, poor, behind) // a batch without a hold leaves it
	whole := pending.Hold{Why: "strange"}
	if err := f.Store.Write(t.Context(), f.Stale, pending.Batch{Account: Account, Hold: &whole}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a hold under a stale token: got error %v, want ErrStale", err)
	}
	want(hold, poor, behind)
	f.write(t, pending.Batch{Hold: &whole})
	want(whole, poor, behind)
	f.write(t, pending.Batch{Hold: &pending.Hold{}})
	want(pending.Hold{}, poor, behind)
}

// W6: a new leader learns at which height the slot of the highest nonce was signed, final or not.
func theHeightOfTheNewestIsLoaded(t *testing.T, f Fixture) {
	if snap := f.load(t, 0); snap.Since != 0 || snap.Next != 0 {
		t.Errorf("of an account without slots: loaded %+v, want height 0", snap)
	}
	one, two := f.accept(t, "1", 1), f.accept(t, "2", 2)
	low, high := slot(0, &one.ID), slot(1, &two.ID)
	low.Since, high.Since = 99, 5 // a later leader's endpoint may be behind
	f.write(t, pending.Batch{New: []pending.Slot{high, low}})
	if snap := f.load(t, 0); snap.Since != 5 || snap.Next != 2 {
		t.Errorf("loaded %+v, want height 5 and next nonce 2", snap)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{final(1, pending.Finalized, pending.Done)}})
	if snap := f.load(t, 2); snap.Since != 5 {
		t.Errorf("once it is final: loaded %+v, want height 5", snap)
	}
}
