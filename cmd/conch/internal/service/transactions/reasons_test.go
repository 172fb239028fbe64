package transactions

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
)

// Why a call has reverted is asked once, and again only some time after nobody could say. Nobody waits for another one's question.
func TestReasonsAreAskedOnce(t *testing.T) {
	w := newWorld()
	rs, clock := w.api.transactions.reasons, time.Unix(0, 0)
	rs.now = func() time.Time { return clock }
	r := w.store.kept[testID(thirdID)]
	is := func(what, want string, replays int) {
		t.Helper()
		if got := rs.of(t.Context(), payerAccount, r); got.Reason+got.Unknown != want || w.replays != replays {
			t.Errorf("%s: got %+v after %d calls, want %q after %d", what, got, w.replays, want, replays)
		}
	}
	for range mostReplays {
		rs.places <- struct{}{}
	}
	is("no place", "too many ask now: ask again in a moment", 0)
	for range mostReplays {
		<-rs.places
	}
	w.fault = errors.New("away")
	is("no answer", "away", 1)
	is("a second later", "away", 1)
	clock, w.fault, w.reason = clock.Add(reasonAgain), nil, "no money"
	is("later", "no money", 2)
	clock = clock.Add(time.Hour)
	is("much later", "no money", 2)
	r.Last.Block.Hash = "\xce"
	is("in another block", "no money", 3)
	for i := range mostReasons + 1 {
		r.Last.Block.Hash = chain.Hash(fmt.Sprint(i))
		_ = rs.of(t.Context(), payerAccount, r)
	}
	if len(rs.known) > mostReasons {
		t.Errorf("%d reasons are remembered, want %d at most", len(rs.known), mostReasons)
	}
}

// An endpoint that says nothing holds a request up for reasonPatience, and no other one after it.
func TestASilentEndpointHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.hangs = true
		began := time.Now()
		for range 3 {
			got := w.api.transactions.reasons.of(t.Context(), payerAccount, w.store.kept[testID(thirdID)])
			if !strings.Contains(got.Unknown, "no endpoint of the chain has answered in time") {
				t.Errorf("got %+v", got)
			}
		}
		if took := time.Since(began); took != reasonPatience {
			t.Errorf("took %v, want %v once", took, reasonPatience)
		}
	})
}
