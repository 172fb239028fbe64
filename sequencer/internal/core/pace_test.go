package core

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A range that is shorter than ten times what intents take is found out once there are enough of them; waiting for money, a
// revert and one slow intent are no measure.
func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	seq := func(n uint64) ledger.Sequence { return ledger.Sequence{Lineage: 1, Counter: n} }
	run := func(n, takes uint64, ends sender.State) (short bool) {
		p.note(seq(n), sender.Accepted, 10, 40)
		p.note(seq(n), sender.Accepted, 500, 40) // it had to wait, and is assembled anew
		return p.note(seq(n), ends, 500+takes, 40)
	}
	for n := range uint64(leastPaces - 1) {
		if run(n, 4, sender.Confirmed); p.blocks() != 0 {
			t.Fatalf("after %d intents they take %d blocks, want no measure", n+1, p.blocks())
		}
	}
	run(100, 90, sender.Reverted)
	if run(101, 90, sender.Confirmed) || p.blocks() != 4 {
		t.Errorf("with one slow intent they take %d blocks, want 4, and a range of 40 that suffices", p.blocks())
	}
	short := 0
	for n := range uint64(3 * mostPaces) {
		if run(200+n, 5, sender.Confirmed) {
			short++
		}
	}
	if short != 1 || p.blocks() != 5 || len(p.took) > mostPaces || len(p.began) > 0 {
		t.Errorf("a range of 40 is found too short for %d blocks %d times, want for 5, once; kept are %d and %d", p.blocks(), short, len(p.took), len(p.began))
	}
}
