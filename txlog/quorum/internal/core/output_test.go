package core

import (
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// A store that another one has taken the place of does not ask for it again once its core was made anew: the two would take turns.
func TestATwinIsRememberedWhenTheCoreBeginsAnew(t *testing.T) {
	t.Parallel()
	before, next := newLone(t).core, newLone(t).core
	before.twin, before.hint, before.told = 9, "n2", 3
	if hint, told, upto := next.Succeed(before); next.twin != 9 || hint != "n2" || told != 3 || upto != next.told {
		t.Errorf("of another store the new core knows %d, and of the one before it %q and %d to %d", next.twin, hint, told, upto)
	}
}

// What a snapshot or an entry from others has brought is not read before it is stored. What a member promises shows in no answer.
func TestWhatIsNotReadBeforeItIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writes []Write
		load   bool
		unread bool
	}{
		{nil, false, false}, {nil, true, true}, {[]Write{{Persist: &majority.Persist{}}}, false, false}, {[]Write{{Adopt: &Adopted{}}}, false, true},
		{[]Write{{Step: &store.Step{}}}, false, false}, {[]Write{{Step: &store.Step{}}, {Step: &store.Step{Records: make([]txlog.Record, 1)}}}, false, true},
	} {
		out := Output{Load: c.load}
		out.Writes = c.writes
		if out.Unread() != c.unread {
			t.Errorf("of %+v users wait: %t", c, out.Unread())
		}
	}
}
