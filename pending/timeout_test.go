package pending

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// S26: the time in a block counts from when that block was first seen to have the transaction: another block begins
// anew, the same one told again does not. Without a limit nothing times out, and a time below 0 is none.
func TestTheTimeInABlock(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{FinalAfter: time.Hour})
	now := fence.Instant(time.Hour)
	s := &slot{Slot: Slot{Attempts: make([]chain.Signed, 1)}, deliveries: make([]delivery, 1)}
	m.slots.addSlot(s)
	in := func(hash chain.Hash) {
		m.placeSlot(s, &chain.Inclusion{Block: chain.Block{Number: 7, Hash: hash}}, true)
		m.takeCensus(now)
	}
	in("a")
	now = now.Add(50 * time.Minute)
	in("a")
	now = now.Add(10 * time.Minute)
	if m.takeCensus(now); !m.timedOut(s, now) {
		t.Error("an hour in one block: it has not timed out")
	}
	for _, never := range []time.Duration{0, -1} {
		if m.set.FinalAfter = never; m.timedOut(s, now) {
			t.Errorf("with a limit of %v it has timed out", never)
		}
	}
	m.set.FinalAfter = time.Hour
	if in("b"); m.timedOut(s, now) {
		t.Error("just now in another block: it has timed out")
	}
}
