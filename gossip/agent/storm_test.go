package agent_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/runtest"
)

// sent counts the messages of statements, and those of the overlay, that all agents have sent.
func (s *site) sent() (n uint64) {
	for _, one := range s.nodes {
		n += one.agent.Status().Counts.MessagesSent
	}
	return n
}

// A guest says six things once to five of a hundred agents without electors: what others said last, and two lives of one of them in the wrong
// order, so that each pushes another one from the first places. The agents then say no more than three times what they say at rest, in each second
// until all of it is over, and agree again.
func TestSixWordsAreNoStorm(t *testing.T) {
	runtest.LongRun(t)
	bubble(t, func(t *testing.T, s *site) {
		s.cheap = true
		s.crowd(100, 0)
		for i, n := range s.nodes {
			n.agent.Seniority("site", uint64(i*37%100)+7)
		}
		s.agree(20 * time.Second)
		pass(10 * time.Second)
		guest := s.net.Roam("evil", keyOf(t, "evil").Subject())
		line, err := guest.Open(agent.LineGossip)
		if err != nil {
			t.Fatal(err)
		}
		views, err := guest.Open(agent.LineSpray)
		if err != nil {
			t.Fatal(err)
		}
		hello, err := spraywire.Encode(spray.Hello{Address: "evil", Incarnation: 1, Holds: true})
		if err != nil {
			t.Fatal(err)
		}
		five := []string{"n1", "n11", "n37", "n62", "n100"}
		for _, name := range five {
			guest.Connect(name, name)
		}
		pass(time.Second)
		for _, name := range five {
			if err := views.Send(name, hello); err != nil {
				t.Fatal(err)
			}
		}
		before := s.sent()
		pass(10 * time.Second)
		rest := (s.sent() - before) / 10
		for i, w := range []wire.Said{
			lifeOf("a", 1, 0, 9), lifeOf("b", 1, 0, 9), lifeOf("c", 1, 0, 99), lifeOf("x", 2, 0, 0), lifeOf("x", 1, 6, 0), lifeOf("d", 1, 0, 1),
			lifeOf("a", 1, 0, 9), lifeOf("b", 1, 0, 9), lifeOf("c", 1, 0, 99), lifeOf("x", 2, 0, 0), lifeOf("x", 1, 6, 0), lifeOf("d", 1, 0, 1),
		} {
			body, err := wire.Encode(wire.Parcel{Said: []wire.Said{w}})
			if err != nil {
				t.Fatal(err)
			}
			for j := range five {
				if err := line.Send(five[(i+j)%5], body); err != nil {
					t.Fatal(err)
				}
			}
		}
		for second := range 12 {
			before := s.sent()
			pass(time.Second)
			if n := s.sent() - before; n > 3*rest {
				t.Fatalf("in second %d the agents send %d messages, and %d at rest", second+1, n, rest)
			}
		}
		s.agree(30 * time.Second)
	})
}

// lifeOf is a heartbeat of a life of somebody whose key the guest has made.
func lifeOf(name string, life, reign, seniority uint64) wire.Said {
	key := keyOf(nil, name).Subject()
	beat := wire.Heartbeat{Stands: true, Wide: true, Reign: reign, Leads: reign > 0, Seniority: seniority, Host: fmt.Sprint("host-", name)}
	said := wire.Said{Statement: wire.Statement{Subject: key, Incarnation: life, Sequence: 1, Namespace: "site", Body: beat.Body()}}
	said.Signature = seal{key}.Sign(said.Signed())
	return said
}
