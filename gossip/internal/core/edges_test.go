package core

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/gossip/internal/overlay"
)

// Before a node takes part it hears nothing of what is said.
func TestBeforeItTakesPart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.core = New(d.set)
	acts := d.core.Step(d.now, Arrived{Messages: []Message{{Line: LineGossip, From: "b", Body: said(t, 1, 0)}}})
	if top := d.core.hint.Snapshot()[0].Top; len(acts) != 0 || top != 0 {
		t.Errorf("it does %v, and knows of reign %d", acts, top)
	}
}

// A node that leaves has its last words sent before a connection ends, and tells nothing after its goodbye.
func TestLeavingInOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.company()
	d.step(Leave{})
	d.want("it stands back")
	d.step(Leave{})
	d.want("it says goodbye", "p0: Goodbye", "p1: Goodbye", "p2: Goodbye", "p3: Goodbye", "p4: Goodbye")
	d.does((*Core).tellArcs)
	if len(d.arcs()) != 0 {
		t.Errorf("after that statements travel to %v", d.arcs())
	}
	d.step(Leave{})
	d.want("it is gone", "disconnect p0", "disconnect p1", "disconnect p2", "disconnect p3", "disconnect p4")
}

// A peer that has sent too much within a second is not read any more.
func TestAFloodIsNotRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.link("c", true)
	for range 1000 {
		if d.hears("c", overlay.Hello{Address: "at-c", Incarnation: 5, Holds: true}); d.core.overlay.Spent("c") {
			break
		}
	}
	before := d.core.Counts().Refused["overlay-flood"]
	d.step(Arrived{Messages: slices.Repeat([]Message{{Line: LineOverlay, From: "c", Body: []byte{0xff}}}, 3)})
	if after := d.core.Counts().Refused; after["overlay-flood"] != before+3 || after["overlay-malformed"] != 0 {
		t.Errorf("%d of three are refused as too many, and %d were read", after["overlay-flood"]-before, after["overlay-malformed"])
	}
}
