package core

import (
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// A store that has learned of its own leaving as a follower does decides on until something has come after it that ends the change: the
// change may need it (B14). Nobody else does.
func TestAStoreThatLeavesDecidesUntilTheChangeHasEnded(t *testing.T) {
	t.Parallel()
	set := func(stores ...uint64) (all []txlog.Member) {
		for _, id := range stores {
			all = append(all, txlog.Member{Name: string(rune('a' + id)), Key: txlog.Hash{byte(id)}, Store: id})
		}
		return all
	}
	old, next := set(1, 2, 3), set(4, 5, 6)
	for name, c := range map[string]struct {
		after           int  // goals after the change
		opened          bool // first of all, another leader has begun after it
		marked          []txlog.Member
		before, leaving []txlog.Member
		told            bool // the authority has told the change itself
		leaves          bool
	}{
		"it has followed":                       {marked: old, before: old, leaves: true},
		"something has come after the change":   {after: 1, marked: old, before: old},
		"another leader has begun since":        {opened: true, marked: old, before: old, leaves: true},
		"another leader has executed since":     {opened: true, after: 1, marked: old, before: old},
		"another change has come since":         {marked: old, before: set(7, 8, 9)},
		"by its own log it is no member":        {marked: set(2, 3), before: old},
		"its own log has the change":            {told: true, marked: next, leaving: old, before: old, leaves: true},
		"its own log has the end of the change": {told: true, marked: next, before: old},
	} {
		here := txlog.NewCopy(txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: old}.With(), kv.New)
		if _, err := here.Next(txlog.Entry{Kind: txlog.Changed, Term: 2, Leader: "b", Members: next}); err != nil {
			t.Fatal(err)
		}
		h := Has{Store: 1, Copy: here, Before: c.before, Stored: majority.Stored{Mark: majority.Mark{Members: c.marked, Leaving: c.leaving}}}
		if c.told {
			h.Stored.Mark.At = here.Position()
		}
		if c.opened {
			if _, err := here.Next(txlog.Entry{Kind: txlog.Opening, Term: 3, Leader: "c"}); err != nil {
				t.Fatal(err)
			}
		}
		for range c.after {
			o := here.Execute([]byte("no goal"))
			if _, err := here.Next(txlog.Entry{Kind: txlog.Executed, Term: 3, Leader: "b", GoalID: "g", Goal: []byte("no goal"), Fault: o.Fault}); err != nil {
				t.Fatal(err)
			}
		}
		if got := leaves(h); got != c.leaves {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A copy that comes as a whole says whether something has come after the change, too.
func TestASnapshotAfterAChange(t *testing.T) {
	t.Parallel()
	key, c, _, s := fortyRecords(t)
	core := coreOf(t, key, s)
	core.changed = true
	if core.decided(c); core.changed {
		t.Error("the change that is past goes on")
	}
}
