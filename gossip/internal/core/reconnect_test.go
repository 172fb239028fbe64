package core

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
)

// A peer that has gone and come again is asked what it knows, also where this node hears of both at one time: it may have started anew, or
// heard what was lost on the way here.
func TestAPeerThatComesAgainIsAsked(t *testing.T) {
	t.Parallel()
	for _, elector := range []bool{false, true} {
		d := newDesk(t, elector)
		d.company()
		d.link("b", true)
		d.asked = nil
		d.now += time.Millisecond
		d.step(Arrived{Links: []transport.Link{{Peer: "b"}, {Peer: "b", Up: true, Key: key("b").Subject()}}})
		if !slices.Equal(d.asked, []string{"b"}) {
			t.Errorf("electors: %v: it asks %q", elector, d.asked)
		}
		if d.step(Arrived{}); len(d.asked) != 1 {
			t.Errorf("electors: %v: it asks once more: %q", elector, d.asked)
		}
		if d.arcs()[0] != "b" {
			t.Errorf("electors: %v: statements travel to %v", elector, d.arcs())
		}
	}
}
