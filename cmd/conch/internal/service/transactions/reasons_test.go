package transactions

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Why a call has reverted is asked once, and again only some time after nobody could say. Nobody waits for another one's question.
func TestReasonsAreAskedOnce(t *testing.T) {
	w := newWorld()
	rs, clock := w.api.transactions.reasons, time.Unix(0, 0)
	rs.now = func() time.Time { return clock }
	r := w.store.kept[testID(thirdID)]
	is := func(what, want string, replays int) {
		t.Helper()
		if got, err := rs.of(t.Context(), payerAccount, r); err != nil || got.Reason+got.Unknown != want || w.replays != replays {
			t.Errorf("%s: got %+v, %v after %d calls, want %q after %d", what, got, err, w.replays, want, replays)
		}
	}
	w.fault = errors.New("away")
	is("no answer", "away", 1)
	is("a second later", "away", 1)
	clock, w.fault, w.reason = clock.Add(findAgain), nil, "no money"
	is("later", "no money", 2)
	clock = clock.Add(time.Hour)
	is("much later", "no money", 2)
	r.Last.Block.Hash = "\xce"
	is("in another block", "no money", 3)
}

// A request that finds no place in time is answered without a reason.
func TestAReasonWithoutAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for range mostFinds {
			w.api.transactions.reasons.places <- struct{}{}
		}
		if d := w.details(t.Context(), thirdID); d.Revert == nil || d.Revert.Unknown != errFinds.Error() || d.Revert.ReplayedAt != 8 || w.replays > 0 {
			t.Errorf("got %+v after %d calls", d.Revert, w.replays)
		}
	})
}

// An endpoint that says nothing holds a request up for findPatience, and no other one after it.
func TestASilentEndpointHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.hangs = true
		began := time.Now()
		for range 3 {
			d := w.details(t.Context(), thirdID)
			if d.Revert.Unknown != errSilent.Error() || d.ReceiptUnknown != errSilent.Error() {
				t.Errorf("got %+v, %q", d.Revert, d.ReceiptUnknown)
			}
		}
		if took := time.Since(began); took != findPatience {
			t.Errorf("took %v, want %v once", took, findPatience)
		}
	})
}
