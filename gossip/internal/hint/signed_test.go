package hint

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A word counts for nothing before its signature was looked at: neither one of somebody who does not stand, which shows that a neighbour is
// there, nor a vote, nor a copy that would show two hosts with one key.
func TestWordsThatAreNotSigned(t *testing.T) {
	t.Parallel()
	sign := func(s wire.Said, right bool) wire.Said {
		if s.Signature = (honest{s.Subject}).Sign(s.Signed()); !right {
			s.Signature = append(slices.Clone(s.Signature), 'x')
		}
		return s
	}
	beat := func(stands, right bool) wire.Said {
		b := wire.Heartbeat{Stands: stands, Wide: true, Host: "host"}
		return sign(wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: b.Body()}}, right)
	}
	vote := func(right bool) wire.Said {
		v := wire.Vote{Leader: named("b")}
		return sign(wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: v.Body()}}, right)
	}
	for name, c := range map[string]struct {
		policy string
		said   func(right bool) wire.Said
		counts func(*Machine, []Action) bool
	}{
		"one that does not stand": {
			said:   func(right bool) wire.Said { return beat(false, right) },
			counts: func(m *Machine, _ []Action) bool { return m.order[0].heard == m.now },
		},
		"one that stands": {
			said:   func(right bool) wire.Said { return beat(true, right) },
			counts: func(m *Machine, _ []Action) bool { return len(m.order[0].ranked) > 0 },
		},
		"a vote": {
			policy: Paper,
			said:   vote,
			counts: func(m *Machine, _ []Action) bool { return len(m.order[0].paper.votes) > 0 },
		},
	} {
		for _, right := range []bool{true, false} {
			m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site", Policy: c.policy}}})
			m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}}})
			all := m.Step(time.Second, Received{From: "b", Parcel: wire.Parcel{Said: []wire.Said{c.said(right)}}})
			refused := slices.ContainsFunc(of[Refused](all), func(r Refused) bool { return errors.Is(r.Why, ErrSignature) })
			if c.counts(m, all) != right || refused == right {
				t.Errorf("%s, signed %v: it counts %v, and is refused %v", name, right, c.counts(m, all), refused)
			}
		}
	}
}

// A copy with another signature shows that two hosts have one key, if it is one: anybody can put other bytes there.
func TestAForgedCopyIsNoTwin(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site"}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}, {Name: "c", Subject: named("c")}}})
	said := beatOf("b", 1, 0, 9)
	m.Step(time.Second, Received{From: "b", Parcel: wire.Parcel{Said: []wire.Said{said}}})
	said.Signature = append(slices.Clone(said.Signature), 'x')
	all := m.Step(time.Second, Received{From: "c", Parcel: wire.Parcel{Said: []wire.Said{said}}})
	if len(of[Twin](all)) > 0 || len(of[Refused](all)) != 1 {
		t.Errorf("it says %v", all)
	}
}

// That a neighbour is there its own word shows, and not a copy that another one brings: it may have gone since.
func TestACopyIsNoNeighbour(t *testing.T) {
	t.Parallel()
	b := wire.Heartbeat{Wide: true, Host: "host"}
	said := wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: b.Body()}}
	said.Signature = honest{said.Subject}.Sign(said.Signed())
	for from, counts := range map[string]bool{"b": true, "c": false} {
		m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site"}}})
		m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}, {Name: "c", Subject: named("c")}}})
		m.Step(time.Second, Received{From: from, Parcel: wire.Parcel{Said: []wire.Said{said}}})
		if heard := m.order[0].heard == m.now; heard != counts {
			t.Errorf("brought by %s: somebody is heard %v", from, heard)
		}
	}
}
