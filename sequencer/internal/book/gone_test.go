package book

import (
	"errors"
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

// What has landed is stored with its contents, however the book has heard them and whenever: another member may have
// lost them, and would build on states that it does not know for ever.
func TestContentsOfWhatHasLanded(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	before, after, other := whole(1, "a"), whole(2, "b"), whole(3, "c")
	hears(t, b, before, other)
	lands(t, b, before, after)
	taken := func() (names []ledger.Hash) {
		c, _ := b.Final()
		for _, l := range c.Landed {
			if l.Assembled != named(l.Whole) {
				t.Errorf("the contents of %v are under the name %v", named(l.Whole), l.Assembled)
			}
			names = append(names, l.Assembled)
		}
		return names
	}
	if got := taken(); len(got) != 1 || got[0] != named(before) {
		t.Errorf("with the block the contents of %v are to be stored, want those that were heard before", got)
	}
	hears(t, b, after) // as an attempt on which another one is built
	if got := taken(); len(got) != 1 || got[0] != named(after) {
		t.Errorf("when they are heard the contents of %v are to be stored, want the late ones", got)
	}
	hears(t, b, before)
	if got := taken(); len(got) != 0 {
		t.Errorf("the contents of %v are to be stored again", got)
	}
}

// A contract begins at the block of its creation: the first block that a new node hears of has any number.
func TestANewContractBeginsAnywhere(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	if err := b.Load(Snapshot{}); err != nil {
		t.Fatal(err)
	}
	for _, number := range []uint64{854, 855} {
		if err := b.Block(ledger.Block{Number: number}); err != nil {
			t.Error(err)
		}
	}
	if err := b.Block(ledger.Block{Number: 857}); !errors.Is(err, ErrOrder) {
		t.Errorf("a gap: got error %v, want ErrOrder", err)
	}
}
