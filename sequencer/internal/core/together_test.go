package core

import (
	"fmt"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// What comes while others are handed over goes together, fifty at most, and in its order: nothing passes a cancellation
// or an entry that it may stand on (P38). The first one does not wait; what comes after it waits for others.
func TestEntriesGoTogether(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a", declared("a"))
	name := func(i uint64) ledger.Intent {
		return ledger.Intent{Owner: "a", Sequence: ledger.Sequence{Counter: i}}
	}
	var want, got []string
	for i := range uint64(150) {
		tx := ledger.Sent{By: "a", Entries: []ledger.Entry{{Attempt: ledger.Attempt{Intent: name(i)}}}}
		if i == 61 {
			tx = ledger.Sent{By: "a", Cancel: &ledger.Cancellation{Intent: name(i)}}
		}
		want = append(want, fmt.Sprint(tx.Cancel != nil, i))
		d.submitSent(tx)
	}
	var sizes []int
	for len(got) < len(want) {
		one, is := next[HandIn](d)
		if !is { // the first one was handed over
			wait := must[Wait](d)
			if wait.For != gathering {
				t.Errorf("it waits for %v, want %v", wait.For, gathering)
			}
			d.step(Answered{ID: wait.ID})
			continue
		}
		sizes = append(sizes, len(one.Sent.Entries))
		for _, e := range one.Sent.Entries {
			got = append(got, fmt.Sprint(false, e.Sequence.Counter))
		}
		if one.Sent.Cancel != nil {
			got = append(got, fmt.Sprint(true, one.Sent.Cancel.Sequence.Counter))
		}
		if _, two := next[HandIn](d); two {
			t.Fatal("two are handed over at once")
		}
		d.step(Answered{ID: one.ID})
	}
	if !slices.Equal(got, want) {
		t.Errorf("handed over are %v", got)
	}
	if want := []int{1, 50, 10, 0, 50, 38}; !slices.Equal(sizes, want) {
		t.Errorf("transactions have %v entries, want %v", sizes, want)
	}
}
