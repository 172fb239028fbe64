package gossip

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// An elector's heartbeat is heard before what waits of others, however much that is.
func TestElectorsAreHeardFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.link("b", true)
	d.link("guest", true)
	beat := wire.Said{Statement: wire.Statement{
		Subject: key("b").Subject(), Incarnation: 1, Sequence: 1, Namespace: "site", Body: wire.Heartbeat{Leads: true, Stands: true, Reign: 3, Host: "b"}.Body(),
	}}
	beat.Signature = key("b").Sign(beat.Signed())
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{beat}})
	if err != nil {
		t.Fatal(err)
	}
	var batch []core.Input
	for range mostHeld - 1 {
		batch = append(batch, arrives(transport.Envelope{Subject: core.LineGossip, From: "guest", Body: []byte("garbage")}))
	}
	d.agent.mail.take()
	d.agent.feed(append(batch, arrives(transport.Envelope{Subject: core.LineGossip, From: "b", Body: body}))...)
	said := d.agent.mail.take()
	if len(said) < mostHeld/2 {
		t.Fatalf("%d events say what became of %d messages", len(said), mostHeld)
	}
	if l, is := said[0].(Leader); !is || l.Leader.Name != "b" {
		t.Errorf("the first of all that it heard is %+v", said[0])
	}
	if n := d.known().Counts.MessagesReceived; n != mostHeld {
		t.Errorf("%d messages were heard", n)
	}
}

// mostHeld is how many messages a batch has.
const mostHeld = step.MostAtOnce

// A batch is put in order, and what one peer has said on one line stays as it was. The time comes last.
func TestTheOrderOfABatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.links = []transport.Link{{Peer: "late", Up: true}} // since the batch was taken
	batch := []core.Input{core.Tick{}, core.Arrived{Links: []transport.Link{{Peer: "early", Up: true}}}}
	for _, text := range []string{"spray b 1", "gossip guest 1", "spray guest 1", "gossip b 1", "gossip guest 2", "gossip b 2", "gossip early 1", "spray b 2"} {
		word := strings.Fields(text)
		batch = append(batch, arrives(transport.Envelope{Subject: word[0], From: word[1], Body: []byte(word[2])}))
	}
	var got []string
	for _, in := range d.agent.arrange(batch) {
		switch in := in.(type) {
		case core.Arrived:
			for _, l := range in.Links {
				got = append(got, l.Peer)
			}
			for _, m := range in.Messages {
				got = append(got, m.Line+" "+m.From+" "+string(m.Body))
			}
		case core.Tick:
			got = append(got, "tick")
		}
	}
	if want := []string{
		"early", "late", "gossip b 1", "gossip b 2", "gossip guest 1", "gossip guest 2", "gossip early 1", "spray b 1", "spray guest 1", "spray b 2", "tick",
	}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}
