package quorum_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// A member that is taken away while it is cut off hears so from no leader: it follows the others, and learns it from the log
// (B14).
func TestARemovedMemberFollows(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(10)
		away := s.nodes[2]
		away.kill()
		s.change([]txlog.Member{s.nodes[0].member(), s.nodes[1].member(), s.nodes[3].member()})
		s.fill(10)
		away.start()
		s.equal(20 * time.Second)
		s.within(10*time.Second, "it decides nothing", func() bool { return !away.run.Load().Status().Decides })
	})
}

// A member whose store is lost has to be admitted, also if only the log says that it was one: as long as the leader speaks to its
// old store, it follows (new-disk-new-member).
func TestALaterMemberLosesItsStore(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		later := s.nodes[3]
		s.change(append(slices.Clone(s.genesis.Members), later.member()))
		s.fill(150)
		s.equal(5 * time.Second)
		later.kill()
		later.store = store.NewMemory(78, s.genesis)
		later.start()
		s.within(20*time.Second, "the new store is a member's", func() bool {
			m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, later.name)
			return m.Store == 78 && later.run.Load().Status().Decides
		})
		s.equal(5 * time.Second)
	})
}

// A follower that becomes a member knows the stores that the members have now, not those of the genesis: it takes what a leader
// with a new one says (new-disk-new-member). If it was away meanwhile, it follows first.
func TestANewMemberKnowsNewStores(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"here": false, "away": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, 1, func(t *testing.T, s *site) { s.leadsWithANewStore(away) })
		})
	}
}

func (s *site) leadsWithANewStore(away bool) {
	s.fill(10)
	renewed, added := s.nodes[2], s.nodes[3]
	if away {
		added.kill()
	}
	renewed.kill()
	renewed.store = store.NewMemory(77, s.genesis)
	renewed.start()
	s.within(20*time.Second, "the new store is a member's", func() bool {
		m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, renewed.name)
		return m.Store == 77 && renewed.run.Load().Status().Decides
	})
	s.equal(5 * time.Second)
	for _, n := range s.nodes[:3] {
		n.run.Load().Suggest(renewed.name)
	}
	if l := s.leader(); l != renewed {
		l.kill()
		s.within(5*time.Second, "the one with the new store leads", func() bool { return s.leader() == renewed })
		l.start()
	}
	members := slices.Clone(s.nodes[0].run.Load().Status().Members)
	s.change(append(members, added.member()))
	if away {
		s.fill(5)
		added.start()
	}
	s.within(10*time.Second, "the new member takes what the leader says", func() bool {
		q := added.run.Load().Inside().Quorum
		return q != nil && q.Member && q.Leader == renewed.name
	})
}
