package book

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// stale returns a book that shows a state of first, which second has spent: that one is missing. All is final.
func stale(t *testing.T) (b *Book, disk *Snapshot, id ledger.StateID) {
	b, disk = open(t, 0), &Snapshot{}
	first := whole(1, "ab")
	id = output(first, 0)
	hears(t, b, first)
	lands(t, b, first)
	lands(t, b, whole(2, "c", id))
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	if !b.Unspent(id) {
		t.Fatal("what is missing has spent it, and it is not there")
	}
	return b, disk, id
}

func stores(t *testing.T, b *Book, disk *Snapshot) {
	t.Helper()
	if c, is := b.Final(); is {
		disk.apply(t, c)
	}
}

// again returns a book that begins with what is stored.
func again(t *testing.T, disk Snapshot) *Book {
	t.Helper()
	b := open(t, 0)
	if err := b.Load(disk); err != nil {
		t.Fatal(err)
	}
	return b
}

// What the ledger no longer has is in no view, whatever comes later: blocks, a restart, and what has spent it. When that
// is heard nothing of it is left in memory and in the store.
func TestGone(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"the same book": false, "after a restart": true} {
		b, disk, id := stale(t)
		b.Gone(id, id, ledger.StateID{9})
		if stores(t, b, disk); restarts {
			b = again(t, *disk)
		}
		if _, is := b.State(id); is || len(slices.Collect(b.Labelled("a", 1))) > 0 || slices.Contains(b.States(), id) {
			t.Errorf("%s: it is there", name)
		}
		if len(disk.States) != 1 || len(b.Missing()) != 1 {
			t.Errorf("%s: %d states are stored and %d attempts missing, want one and one", name, len(disk.States), len(b.Missing()))
		}
		hears(t, b, whole(1, "ab")) // its creator, once more
		if b.Unspent(id) {
			t.Errorf("%s: it is there when its creator is heard again", name)
		}
		for range deal.Life + deal.Depth {
			lands(t, b)
		}
		hears(t, b, whole(2, "c", id))
		stores(t, b, disk)
		if b.Unspent(id) || !b.Unspent(output(whole(2, "c", id), 0)) || len(b.Missing())+len(disk.Missing) > 0 {
			t.Errorf("%s: heard late, what has spent it does not count", name)
		}
		if len(disk.States) != 2 || len(disk.Early)+len(b.spent) > 0 || len(b.states) != 2 {
			t.Errorf("%s: %d states and %d early ones are stored, and %d spent ones in memory; want 2, 0, 0", name, len(disk.States), len(disk.Early), len(b.spent))
		}
	}
}

// A node that follows behind hears of what is gone before it has the block that spends it, which may still be taken back
// for another place.
func TestGoneAheadOfItsBlock(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	first := whole(1, "a")
	second := whole(2, "c", output(first, 0))
	id := output(first, 0)
	hears(t, b, first, second)
	lands(t, b, first)
	b.Gone(id)
	if !b.Unspent(id) {
		t.Error("it is gone, and its creator is not final here: a rewind could not take it back")
	}
	for range deal.Depth {
		lands(t, b)
	}
	b.Gone(id)
	lands(t, b, second)
	stores(t, b, disk)
	if err := b.Rewind(ledger.Rewind{To: 4}); err != nil || b.Unspent(id) {
		t.Errorf("it is back after a rewind (error %v)", err)
	}
	if third := whole(3, "b", id); !b.Decided(named(third), third.Attempt) {
		t.Error("what would use it is not decided")
	}
	lands(t, b, second)
	for range deal.Depth + 3 {
		lands(t, b)
	}
	stores(t, b, disk)
	if b.Unspent(id) || len(disk.States) != 1 || len(disk.Early)+len(b.spent) > 0 {
		t.Errorf("%d states and %d early ones are stored, want one and none", len(disk.States), len(disk.Early))
	}
}
