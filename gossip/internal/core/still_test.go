package core

import (
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// What waited while a process stood still looks new in every namespace in which a heartbeat counts for less than that, also where there is
// another one in which it counts for longer.
func TestStandingStillInTwoNamespaces(t *testing.T) {
	t.Parallel()
	for _, nearer := range []int{0, 1} {
		d := newDesk(t, true)
		one, other := d.set.Hint.Namespaces[0], hint.Namespace{Name: "other", Electors: []wire.Subject{key("b").Subject()}}
		d.set.Hint.Namespaces = []hint.Namespace{one, other}
		if nearer == 1 {
			d.set.Hint.Namespaces = []hint.Namespace{other, one}
		}
		d.sits(d.set)
		d.step(Tick{})
		d.now += 3 * time.Second
		if d.heard("b", said(t, 1, 0)); d.core.counts.Undated != 1 {
			t.Errorf("it has stood still for 3s, and takes for new what a leader said meanwhile whose word counts for %v", d.core.hint.Snapshot()[nearer].Valid)
		}
		d.now += round
		if d.heard("b", said(t, 2, 0)); d.core.counts.Undated != 1 {
			t.Error("a round later it hears nothing yet")
		}
	}
}

// A clock that falls back for a moment, as where it cannot be read, is no standstill.
func TestAClockThatFallsBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.step(Tick{})
	d.now -= time.Minute
	d.step(Tick{})
	d.now += time.Minute
	if d.heard("b", said(t, 1, 0)); d.core.counts.Undated != 0 {
		t.Error("what is said after that counts for nothing")
	}
}
