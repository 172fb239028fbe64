package core

import (
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// said is bytes of a claim of b's to lead.
func said(t *testing.T, sequence uint64, age int32) []byte {
	t.Helper()
	s := wire.Said{Statement: wire.Statement{Subject: key("b").Subject(), Incarnation: 1, Sequence: sequence, Namespace: "site"}, Age: age}
	s.Body = wire.Heartbeat{Stands: true, Leads: true, Wide: true, Reign: 1, Host: "b"}.Body()
	s.Signature = key("b").Sign(s.Signed())
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{s}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A node of the crowd looks when there is something to do, at the instant at which its leader's last word ends, and its status says how
// late it is all the same.
func TestTheCrowdRests(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.set.Hint.Namespaces[0].Electors = []wire.Subject{key("b").Subject()}
	d.sits(d.set)
	d.link("b", true)
	d.does(func(c *Core) { c.neighbours["b"], c.stale = true, true; c.tellArcs() })
	asks := func(after time.Duration) {
		t.Helper()
		if wait := d.core.tickAt - d.now; wait != after {
			t.Errorf("it looks again after %v, want %v", wait, after)
		}
	}
	tick := func() { d.step(Tick{}) }
	tick()
	asks(round) // it has begun, and nobody has told it who leads: what it asked for may be lost
	d.now += round
	tick()
	asks(round)
	d.heard("b", said(t, 1, 0))
	d.now += round
	tick()
	asks(9 * round)
	const old = 77 // of 80 rounds
	d.heard("b", said(t, 2, old))
	asks(3*round + 1)
	before := d.core.tickAt
	d.heard("b", said(t, 3, 0))
	if d.core.tickAt != before {
		t.Errorf("a fresh word moves that to %v", d.core.tickAt)
	}
	d.now += 500 * time.Millisecond
	if heard := d.core.Snapshot(d.now).Hints[0].Heard; heard != 500*time.Millisecond {
		t.Errorf("the leader was heard %v ago", heard)
	}
	d.now = d.core.tickAt + time.Hour
	d.does(func(c *Core) {
		if wait := c.nextTick() - c.now; wait != round {
			t.Errorf("when it is late, it looks again after %v", wait)
		}
	})
}

const round = 100 * time.Millisecond
