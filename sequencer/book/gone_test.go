package book

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Q14: contents may be lost for ever, with the database that had them. A state that seems to be there, and that the ledger
// says is gone, is offered no more, and is not there after a restart either. If what spent it is heard after all, nothing
// comes back.
func TestWhatIsLostForEver(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "ab")
	lost := whole(2, "c", output(first, 0))
	hears(t, b, first)
	lands(t, b, first)
	lands(t, b, lost)
	if b.Gone(output(first, 0)); !b.Unspent(output(first, 0)) {
		t.Error("a state is gone, although what creates it may be taken back")
	}
	for range deal.Depth + 1 {
		lands(t, b)
	}
	if !b.Unspent(output(first, 0)) {
		t.Fatal("this test shows nothing: the state does not seem to be there")
	}
	b.Final()
	b.Gone(output(first, 0), output(lost, 0))
	if b.Unspent(output(first, 0)) || !b.Unspent(output(first, 1)) {
		t.Error("want the first state gone, and the other one there")
	}
	for s := range b.Labelled(letters{}.Label([]byte("a")), 0) {
		if s.ID == output(first, 0) {
			t.Error("a state that is gone is offered")
		}
	}
	if c, _ := b.Final(); !slices.Equal(c.Removed, []ledger.StateID{output(first, 0)}) {
		t.Errorf("stored as removed: %v", c.Removed)
	}
	hears(t, b, lost)
	if b.Unspent(output(first, 0)) || !b.Unspent(output(lost, 0)) || len(b.Missing()) > 0 {
		t.Error("what spent it is heard: want its own state, and nothing else")
	}
}
