package quorum_test

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// heads counts what each member publishes, and drops that of those it names.
type heads struct {
	said [4]atomic.Int64
	mute [4]atomic.Bool
}

func (h *heads) over(s *site) {
	for i, n := range s.nodes {
		n.kill()
		n.with = func(c *quorum.Config) {
			tell := c.Publish
			c.Publish = func(head []byte) {
				h.said[i].Add(1)
				if !h.mute[i].Load() {
					tell(head)
				}
			}
		}
		n.start()
	}
	s.goes("before")
	s.equal(10 * time.Second)
}

// B13: gossip brings each head to all nodes of the overlay, whether they have the log or not. So one member says how far it is
// committed; the others store a head of their own each second, and publish it only if nobody else has said so.
func TestOneMemberPublishes(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		var h heads
		h.over(s)
		l := s.leader()
		for i := range 3 {
			h.said[i].Store(0)
		}
		for i := range 40 {
			if _, err := s.nodes[3].count(fmt.Sprint("goal ", i)); err != nil {
				t.Fatal(err)
			}
			pass(250 * time.Millisecond)
		}
		for i, n := range s.nodes[:3] {
			switch said := h.said[i].Load(); {
			case n == l && said < 30, n != l && said > 1:
				t.Errorf("%s published %d heads, leads: %v", n.name, said, n == l)
			}
			if own, found, err := n.store.Head(1, math.MaxUint64); err != nil || !found || own.Member != n.name {
				t.Errorf("%s has stored no head of its own: %+v, %v", n.name, own, err)
			}
		}
		if now := s.leader(); now != l {
			t.Fatalf("%s led, and now %v leads: this test shows nothing", l.name, now)
		}
	})
}

// A member that lies, or a key that is stolen, signs a head of what nobody has. It silences nobody: only heads that the log confirms do.
func TestALyingMemberSilencesNobody(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.goes("before")
		s.equal(10 * time.Second)
		lie := txlog.Head{Position: txlog.Position{Log: s.genesis.ID(), Index: 1 << 62, Term: 1, Hash: txlog.Hash{1}}, State: txlog.Hash{2}, Member: "n1"}
		for _, n := range s.nodes {
			if err := n.run.Load().Heard(lie.Sign(s.nodes[0].key).Encode(), "n4"); err != nil {
				t.Fatal(err)
			}
		}
		pass(round)
		for i := range 3 {
			if _, err := s.leader().count(fmt.Sprint("after ", i)); err != nil {
				t.Fatal(err)
			}
			s.equal(3 * time.Second)
		}
	})
}

// A leader whose heads reach nobody: another member says them, so a follower is a second behind and no more.
func TestAnotherMemberPublishes(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		var h heads
		h.over(s)
		for i, n := range s.nodes {
			h.mute[i].Store(n == s.leader())
		}
		if _, err := s.leader().count("unsaid"); err != nil {
			t.Fatal(err)
		}
		s.equal(3 * time.Second)
	})
}
