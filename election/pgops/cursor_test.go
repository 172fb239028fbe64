package pgops

import "testing"

// A cursor reads ids again while a transaction may commit what it has not seen, and no longer.
func TestCursorForgetsWhatIsSettled(t *testing.T) {
	t.Parallel()
	w := cursor{seen: map[int64]bool{}}
	pass := func(oldest, next, top, from int64, ids ...int64) {
		t.Helper()
		w.look(oldest, next, top)
		for _, id := range ids {
			w.isNew(id)
		}
		w.advance()
		if w.from != from {
			t.Errorf("the cursor reads from %d on, want %d", w.from, from)
		}
	}
	pass(10, 20, 5, 0, 1, 2, 5) // transaction 10 is under way, and drew 3 and 4
	pass(10, 21, 5, 0)
	pass(10, 25, 8, 0, 6, 7, 8)
	pass(21, 26, 8, 5, 3, 4) // transactions before 21 have ended
	pass(25, 26, 8, 5)
	if !w.seen[8] || w.seen[4] || w.isNew(8) {
		t.Errorf("the cursor remembers %v, want 8 and not 4", w.seen)
	}
	pass(26, 27, 8, 8)
	pass(26, 28, 3*mostReread, 2*mostReread) // a transaction does not end
}
