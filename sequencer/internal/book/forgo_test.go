package book

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// taken returns the attempts of a change whose contents may go, and those that were taken back.
func taken(b *Book) (spent, undone []ledger.Hash) {
	c, _ := b.Final()
	return c.Spent, c.Undone
}

// Q14: the contents of an attempt are needed as long as one of its states is unspent in a final block, or may be so again
// after a reorganisation. After that they are named once.
func TestContentsGoWithTheLastState(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "ab")
	one, two, none := whole(2, "c", output(first, 0)), whole(3, "c", output(first, 1)), whole(4, "", output(first, 0))
	hears(t, b, first, one, two)
	lands(t, b, first)
	lands(t, b, one)
	for range deal.Depth + 2 {
		lands(t, b)
	}
	if spent, _ := taken(b); len(spent) > 0 {
		t.Fatalf("%v are named, and a state is there", spent)
	}
	lands(t, b, two)
	for range deal.Depth - 1 {
		lands(t, b)
	}
	if spent, _ := taken(b); len(spent) > 0 {
		t.Fatalf("%v are named, and what spends the last state may be taken back", spent)
	}
	lands(t, b)
	if spent, _ := taken(b); !slices.Equal(spent, []ledger.Hash{named(first)}) {
		t.Fatalf("%v are named, want the one without states", spent)
	}
	hears(t, b, none)
	lands(t, b, none)
	for range deal.Depth {
		lands(t, b)
	}
	if spent, _ := taken(b); !slices.Equal(spent, []ledger.Hash{named(none)}) {
		t.Errorf("%v are named, want the one that creates none", spent)
	}
}

// A book that begins with what was stored counts what is left.
func TestContentsGoAfterARestart(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	first := whole(1, "ab")
	both := whole(2, "c", output(first, 0), output(first, 1))
	hears(t, b, first)
	lands(t, b, first)
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	b = open(t, 0)
	if err := b.Load(*disk); err != nil {
		t.Fatal(err)
	}
	hears(t, b, both)
	lands(t, b, both)
	for range deal.Depth {
		lands(t, b)
	}
	if spent, _ := taken(b); !slices.Equal(spent, []ledger.Hash{named(first)}) {
		t.Errorf("%v are named, want the first", spent)
	}
}

// What a reorganisation takes back is named, and is landed again when it lands again.
func TestWhatIsTakenBackIsNamed(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "a")
	hears(t, b, first)
	lands(t, b)
	lands(t, b, first)
	b.Final()
	if err := b.Rewind(ledger.Rewind{To: 1}); err != nil {
		t.Fatal(err)
	}
	if _, undone := taken(b); !slices.Equal(undone, []ledger.Hash{named(first)}) {
		t.Errorf("%v were taken back, want the first", undone)
	}
	lands(t, b, first)
	if err := b.Rewind(ledger.Rewind{To: 1}); err != nil {
		t.Fatal(err)
	}
	lands(t, b, first)
	if c, _ := b.Final(); len(c.Undone) > 0 || len(c.Landed) != 1 {
		t.Errorf("%v were taken back and %v have landed, want none and one", c.Undone, c.Landed)
	}
}

// Q14: what nobody has any more, and whose states are all spent, is given up, in memory and in the store. What depends on
// it is given up too: states that were spent before it was heard, and those that it has spent.
func TestWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	first := whole(1, "ab")
	lost := whole(2, "c", output(first, 0))
	second, silent := whole(3, "d", output(lost, 0)), whole(4, "e")
	hears(t, b, first, second)
	lands(t, b, first)
	lands(t, b, lost, silent)
	lands(t, b, second)
	b.Forgo(named(lost))
	if len(b.Missing()) != 2 {
		t.Fatal("it was given up, and its block is not final")
	}
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	if states := b.Created(named(lost)); states[0] != output(lost, 0) || len(states) != wire.MostStates {
		t.Fatalf("it may have created %d states, the first of them %v", len(states), states[0])
	}
	b.Gone(output(first, 0))
	stores(t, b, disk)
	if len(disk.Early) != 2 || len(disk.Missing) != 2 {
		t.Fatalf("%d states are early, %d attempts missing: this test shows nothing", len(disk.Early), len(disk.Missing))
	}
	b.Forgo(named(lost))
	stores(t, b, disk)
	if len(disk.Early) != 1 || len(disk.Missing) != 1 || len(b.Missing()) != 1 {
		t.Errorf("%d states are early and %d attempts missing; the other may have spent the one that is gone", len(disk.Early), len(disk.Missing))
	}
	b.Forgo(named(silent))
	stores(t, b, disk)
	if len(disk.Early)+len(disk.Missing)+len(b.spent)+len(b.Missing()) > 0 {
		t.Errorf("%d states are early, %d attempts missing after all", len(disk.Early), len(disk.Missing))
	}
	hears(t, b, lost) // after all
	if b.Unspent(output(first, 0)) || b.Unspent(output(lost, 0)) || !b.Unspent(output(first, 1)) || !b.Unspent(output(second, 0)) {
		t.Error("what was given up is heard, and changes what is there")
	}
}

// P41: a node that is behind gives up an attempt whose states are spent further on. What it reads there leaves nothing: its
// creator is never heard.
func TestWhatIsGivenUpIsSpentLater(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	lost := whole(1, "ab")
	next := whole(2, "c", output(lost, 0))
	hears(t, b, next)
	lands(t, b, lost)
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	b.Forgo(named(lost))
	lands(t, b, next)
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	if len(disk.Missing)+len(disk.Early)+len(b.spent) > 0 || !b.Unspent(output(next, 0)) {
		t.Errorf("%d attempts are missing and %d states early (%d spent) for ever", len(disk.Missing), len(disk.Early), len(b.spent))
	}
}

// What is given up says nothing of what else is missing: a state that is spent before its creator is heard stays spent, and what was heard
// while the ledger was asked is not given up.
func TestOneThatIsGivenUpSaysNothingOfOthers(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	heard, lost, late := whole(1, "a"), whole(2, "b"), whole(3, "c")
	spends := whole(4, "d", output(late, 0))
	lands(t, b, heard, lost, late)
	for range deal.Depth {
		lands(t, b)
	}
	hears(t, b, heard)
	b.Gone(output(heard, 0)) // by the answer to the same question
	b.Forgo(named(heard))
	if stores(t, b, disk); len(disk.Early) != 1 {
		t.Errorf("%d states are spent before what did it was heard, want the one that is gone", len(disk.Early))
	}
	b.Forgo(named(lost))
	hears(t, b, spends)
	lands(t, b, spends)
	for range deal.Depth {
		lands(t, b)
	}
	if hears(t, b, late); b.Unspent(output(late, 0)) {
		t.Error("it is heard what has created a state, which is there once more")
	}
}
