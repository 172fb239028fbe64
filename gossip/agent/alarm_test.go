package agent

import (
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// said is bytes of a claim of b's to lead.
func said(t *testing.T, sequence uint64, age int32) transport.Envelope {
	t.Helper()
	s := wire.Said{Statement: wire.Statement{Subject: key("b").Subject(), Incarnation: 1, Sequence: sequence, Namespace: "site"}, Age: age}
	s.Body = wire.Heartbeat{Stands: true, Leads: true, Wide: true, Reign: 1, Host: "b"}.Body()
	s.Signature = key("b").Sign(s.Signed())
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{s}})
	if err != nil {
		t.Fatal(err)
	}
	return transport.Envelope{From: "b", Body: body}
}

// A node of the crowd looks when there is something to do, at the instant at which its leader's last word ends, and its status says how
// late it is all the same.
func TestTheCrowdRests(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.core.cfg.Namespaces[0].Electors = []wire.Subject{key("b").Subject()}
	d.core.gossip = gossip.New(d.core.cfg.gossip(1))
	d.core.arcs, d.core.stale = nil, true
	d.link("b", true)
	d.core.neighbours["b"], d.core.stale = true, true
	d.core.tellArcs()
	alarm := newAlarm()
	defer alarm.Stop()
	alarm.again(d.core)
	asks := func(after time.Duration) {
		t.Helper()
		if wait := alarm.at - d.now; wait != after {
			t.Errorf("it looks again after %v, want %v", wait, after)
		}
	}
	asks(round) // it has begun, and nobody has told it who leads: what it asked for may be lost
	d.now += round
	d.core.tick()
	alarm.again(d.core)
	asks(round)
	d.core.heard(said(t, 1, 0))
	d.now += round
	d.core.tick()
	alarm.again(d.core)
	asks(9 * round)
	const old = 77 // of 80 rounds
	d.core.heard(said(t, 2, old))
	alarm.sooner(d.core)
	asks(3*round + 1)
	before := alarm.at
	d.core.heard(said(t, 3, 0))
	if alarm.sooner(d.core); alarm.at != before {
		t.Errorf("a fresh word moves that to %v", alarm.at)
	}
	d.core.gossipLine, d.core.sprayLine = nil, nil // their counts are not asked
	d.now += 500 * time.Millisecond
	if heard := d.core.status().Namespaces[0].Heard; heard != 500*time.Millisecond {
		t.Errorf("the leader was heard %v ago", heard)
	}
	d.now = alarm.at + time.Hour
	alarm.again(d.core)
	if wait := alarm.at - d.now; wait != round {
		t.Errorf("when it is late, it looks again after %v", wait)
	}
}

const round = 100 * time.Millisecond
