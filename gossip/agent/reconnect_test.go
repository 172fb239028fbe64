package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// asking notes whom the line "gossip" has asked what it knows.
type asking struct {
	fakeLine

	asked *[]string
}

func (a asking) Send(to string, body []byte) error {
	if p, err := wire.Decode(body); err == nil && p.Opening {
		*a.asked = append(*a.asked, to)
	}
	return nil
}

// A peer that has gone and come again is asked what it knows, also where this node hears of both at one time: it may have started anew, or
// heard what was lost on the way here.
func TestAPeerThatComesAgainIsAsked(t *testing.T) {
	t.Parallel()
	for _, elector := range []bool{false, true} {
		d := newDesk(t, elector)
		d.company()
		d.link("b", true)
		var asked []string
		d.agent.statements = asking{fakeLine{desk: d}, &asked}
		d.now += time.Millisecond
		d.links = []transport.Link{{Peer: "b"}, {Peer: "b", Up: true, Key: key("b").Subject()}}
		if d.agent.feed(); !slices.Equal(asked, []string{"b"}) {
			t.Errorf("electors: %v: it asks %q", elector, asked)
		}
		if d.agent.feed(); len(asked) != 1 {
			t.Errorf("electors: %v: it asks once more: %q", elector, asked)
		}
		if d.arcs()[0] != "b" {
			t.Errorf("electors: %v: statements travel to %v", elector, d.arcs())
		}
	}
}
