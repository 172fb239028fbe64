package quorum_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/store"
)

// A follower that starts again while nobody submits anything names the leader of its newest entry.
func TestAFollowerThatStartsAgainNamesALeader(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.within(time.Minute, "a leader", func() bool { return s.leader() != nil })
		if _, err := s.nodes[0].put("a", "k", 1); err != nil {
			t.Fatal(err)
		}
		s.equal(time.Minute)
		last := s.leader().name
		for _, n := range s.nodes {
			n.kill()
		}
		follower := s.nodes[3]
		follower.start()
		if is := follower.run.Load().Status(); is.Leader != last {
			t.Errorf("the follower names %q, and the newest entry is of %q", is.Leader, last)
		}
	})
}

// A leader whose store is lost comes back and follows, while too few are left to elect anybody. It leads no more, whatever the newest entry says.
func TestALeaderThatHasLostItsStore(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(3)
		s.equal(time.Minute)
		l := s.leader()
		for _, n := range s.nodes[:3] {
			n.kill()
		}
		l.store = store.NewMemory(77, s.genesis)
		l.start()
		s.equal(time.Minute)
		if is := l.run.Load().Status(); is.Position.Index == 0 || is.Leader != "" || is.Leads || is.Decides {
			t.Errorf("it is %+v", is)
		}
	})
}
