package agent

import (
	"testing"

	"github.com/conchhq/conch/gossip/wire"
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
	inbox := make(chan transport.Envelope, mostRead)
	for range mostRead - 2 {
		inbox <- transport.Envelope{From: "guest", Body: []byte("garbage")}
	}
	inbox <- transport.Envelope{From: "b", Body: body}
	d.agent.mail.take()
	d.agent.hear(transport.Envelope{From: "guest", Body: []byte("garbage")}, inbox)
	said := d.agent.mail.take()
	if len(said) < mostRead/2 {
		t.Fatalf("%d events say what became of %d messages", len(said), mostRead)
	}
	if l, is := said[0].(Leader); !is || l.Leader.Name != "b" {
		t.Errorf("the first of all that it heard is %+v", said[0])
	}
	if len(inbox) > 0 || d.core.counts.MessagesReceived != mostRead {
		t.Errorf("%d messages were heard, and %d wait", d.core.counts.MessagesReceived, len(inbox))
	}
}
