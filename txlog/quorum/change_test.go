package quorum_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// fill has so many goals executed.
func (s *site) fill(n int) {
	s.t.Helper()
	for i := range n {
		if a, err := s.nodes[i%2].count(fmt.Sprint("filler ", time.Now().UnixNano(), i)); err != nil || a.Fault != "" {
			s.t.Fatalf("%+v, %v", a, err)
		}
	}
}

// An empty store is no member's, whatever the member was: the log admits it by an entry, and it has everything again
// (new-disk-new-member).
func TestAnEmptyStoreIsAdmitted(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(250)
		s.equal(3 * time.Second)
		n := s.nodes[2]
		n.kill()
		n.store = store.NewMemory(77, s.genesis)
		n.start()
		s.within(20*time.Second, "the new store is a member's", func() bool {
			m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, n.name)
			return m.Store == 77 && n.run.Load().Status().Decides
		})
		s.nodes[1].kill() // now nothing is committed without the new store
		s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
		if a, err := s.nodes[0].count("after"); err != nil || a.Fault != "" {
			t.Fatalf("%+v, %v", a, err)
		}
		s.nodes[1].start()
		s.equal(5 * time.Second)
	})
}

// A node from nothing has the whole log, by a snapshot if the entries are gone.
func TestANodeFromNothing(t *testing.T) {
	bubble(t, 3, 2, func(t *testing.T, s *site) {
		last := s.nodes[4]
		last.kill()
		s.fill(450)
		if first := s.nodes[0].store.View().Floor.Index; first == 0 {
			t.Fatal("no member has dropped what a snapshot has")
		}
		last.store = store.NewMemory(5, s.genesis)
		last.start()
		s.equal(20 * time.Second)
	})
}

// A member that was away for longer than entries are kept comes back, and counts.
func TestAMemberFarBehind(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(20)
		away := s.nodes[2]
		away.kill()
		s.fill(450)
		away.start()
		s.equal(20 * time.Second)
		s.nodes[1].kill()
		s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
		if a, err := s.nodes[0].count("after"); err != nil || a.Fault != "" {
			t.Fatalf("%+v, %v", a, err)
		}
		s.nodes[1].start()
		s.equal(5 * time.Second)
	})
}

// Members come and go. One that is a member no more is a follower, and may become one again.
func TestMembersChange(t *testing.T) {
	bubble(t, 3, 2, func(t *testing.T, s *site) {
		s.fill(10)
		s.equal(3 * time.Second)
		three, five := slices.Clone(s.genesis.Members), slices.Clone(s.genesis.Members)
		for _, n := range s.nodes[3:] {
			five = append(five, n.member())
		}
		last := five[2:]
		for _, set := range [][]txlog.Member{five, last, three, five} {
			s.change(set)
			s.fill(30)
			s.equal(10 * time.Second)
			for _, n := range s.nodes {
				_, is := txlog.FindMember(set, n.name)
				s.within(10*time.Second, fmt.Sprintf("%s decides: %v", n.name, is), func() bool { return n.run.Load().Status().Decides == is })
			}
		}
	})
}

// A member that was removed while it was away follows, although nobody tells its authority.
func TestRemovedWhileAway(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(10)
		s.equal(3 * time.Second)
		away := s.nodes[2]
		away.kill()
		s.change([]txlog.Member{s.nodes[0].member(), s.nodes[1].member(), s.nodes[3].member()})
		s.fill(30)
		away.start()
		s.fill(1)
		s.equal(10 * time.Second)
		s.within(10*time.Second, "it decides nothing", func() bool { return !away.run.Load().Status().Decides })
	})
}

func (n *node) member() txlog.Member {
	m := txlog.Member{Name: n.name, Store: n.store.View().ID}
	m.Key = fingerprint(n.key)
	return m
}

func (s *site) change(members []txlog.Member) {
	s.t.Helper()
	s.within(30*time.Second, "the leader has changed the members", func() bool {
		l := s.leader()
		if l == nil {
			return false
		}
		_, err := l.run.Load().Change(s.t.Context(), members, l.run.Load().Status().MembersAt)
		return err == nil
	})
}
