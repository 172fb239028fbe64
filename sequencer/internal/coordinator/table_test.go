package coordinator

import (
	"strings"
	"testing"
)

// Every event is named in every state: handled, ignored with a reason, or impossible with a reason.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	for e := range events {
		for s := range over {
			c := table[e][s]
			switch {
			case c == nil:
				t.Errorf("%v in %v is not named", e, s)
			case c.never && c.why == "":
				t.Errorf("%v in %v is impossible, and nobody says why", e, s)
			case c.why != "" && (c.next != 0 || c.do != nothing):
				t.Errorf("%v in %v changes nothing, and has a next state or an effect", e, s)
			}
		}
	}
}

// The diagram has each state, and each way that changes it.
func TestDiagram(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"[*] --> pooled", "ready --> granting: grant asked", "storing --> dispatched: row stored", "dispatched --> over: disowned, superseded, skipped, final"} {
		if !strings.Contains(Diagram(), want) {
			t.Errorf("the diagram lacks %q:\n%s", want, Diagram())
		}
	}
}
