package fence_test

import (
	"testing"

	"github.com/conchhq/conch/fence"
)

func TestDeadline(t *testing.T) {
	g, l, clock := manualGate("s")
	look := func(d fence.Door, want fence.Instant, open bool) {
		t.Helper()
		if at, ok := g.Deadline(d); ok != open || ok && at != want {
			t.Errorf("%s door: deadline %d, open %v; want %d, %v", d, at, ok, want, open)
		}
	}
	moves := func(what string, move func()) {
		t.Helper()
		before := g.Moved()
		select {
		case <-before:
			t.Fatalf("%s: Moved is closed before the move", what)
		default:
		}
		move()
		select {
		case <-before:
		default:
			t.Errorf("%s: Moved is not closed after the move", what)
		}
	}
	look(fence.Fenced, 0, false)
	moves("opening", func() { l.Open(token, 200, 300) })
	look(fence.Fenced, 300, true)
	look(fence.Act, 0, false) // in the hold
	clock.set(250)
	look(fence.Act, 300, true)
	moves("a heartbeat", func() { l.Extend(500) })
	look(fence.Act, 500, true)
	moves("a failed heartbeat", l.Suspend)
	look(fence.Act, 0, false)
	moves("the next good one", func() { l.Extend(600) })
	look(fence.Act, 600, true)
	clock.set(600)
	look(fence.Fenced, 0, false) // late
	moves("the end", func() { l.Shut(errGone) })
	look(fence.Fenced, 0, false)
}
