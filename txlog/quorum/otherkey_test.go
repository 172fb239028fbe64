package quorum_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// A member's disk is lost, and its key with it: the leader says that the log knows it by another key, and admits nobody. Taken out and added
// again it is a member with the key that it has now.
func TestAMemberWithAnotherKey(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(10)
		n := s.nodes[2]
		n.kill()
		n.key, n.store = keyOf("another"), store.NewMemory(77, s.genesis)
		n.start()
		s.within(20*time.Second, "the leader says so", func() bool {
			l := s.leader()
			return l != nil && l.told(func(e quorum.Event) bool {
				r, is := e.(quorum.Refused)
				return is && r.From == n.name && r.Reason == "key"
			})
		})
		members := s.leader().run.Load().Status().Members
		if m, _ := txlog.FindMember(members, n.name); m.Store != 3 {
			t.Fatalf("it is admitted: %+v", m)
		}
		for _, set := range [][]txlog.Member{members[:2], append(members[:2:2], txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: 77})} {
			l := s.leader().run.Load()
			if _, err := l.Change(t.Context(), set, l.Status().MembersAt); err != nil {
				t.Fatal(err)
			}
		}
		s.within(20*time.Second, "it decides", func() bool { return n.run.Load().Status().Decides })
	})
}
