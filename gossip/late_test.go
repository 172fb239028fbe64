package gossip_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
)

// A peer whose call comes through when a node has said goodbye already is told goodbye too: it would take the end of the
// connection for a fault, and look for the node.
func TestALateCaller(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(1, 0)
		leaver := s.nodes[0]
		pass(2 * time.Second)
		caller := s.net.Roam("caller", keyOf(t, "caller").Subject())
		line, err := caller.Open(core.LineOverlay)
		if err != nil {
			t.Fatal(err)
		}
		leaver.stop()
		pass(round + round/2) // it has said goodbye, and waits a round for it to arrive
		caller.Connect(leaver.name, leaver.name)
		leaver.halt()
		pass(round)
		if links := caller.Links(); len(links) != 2 || !links[0].Up || links[1].Up {
			t.Fatalf("the call did not come through in between: %+v", links)
		}
		var heard []overlay.Message
		for len(line.Inbox()) > 0 {
			m, err := overlaywire.Decode((<-line.Inbox()).Body)
			if err != nil {
				t.Fatal(err)
			}
			heard = append(heard, m)
		}
		if len(heard) != 1 || heard[0] != overlay.Message(overlay.Goodbye{}) {
			t.Errorf("the caller is told %#v", heard)
		}
	})
}
