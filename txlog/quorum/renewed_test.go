package quorum_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/store"
)

// Two of three members lose their stores while their nodes are down, and run again: every member says whose stores are other ones, for as
// long as nobody can admit them. One that is admitted is no longer named.
func TestMembersWithOtherStoresAreNamed(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(10)
		renewed := func(n *node) []string { return n.run.Load().Status().Renewed }
		lose := func(id uint64, n *node) {
			n.kill()
			n.store = store.NewMemory(id, s.genesis)
			n.start()
		}
		one, two := s.nodes[1], s.nodes[2]
		lose(77, one)
		s.within(5*time.Second, "it says so of itself", func() bool { return slices.Equal(renewed(one), []string{one.name}) })
		s.within(20*time.Second, "it is admitted, and nobody names it", func() bool {
			return one.run.Load().Status().Decides && len(renewed(one)) == 0 && len(renewed(s.nodes[0])) == 0
		})
		one.kill()
		two.kill()
		lose(78, one)
		lose(79, two)
		want := []string{one.name, two.name}
		for _, n := range s.nodes[:3] {
			s.within(5*time.Second, n.name+" names both", func() bool { return slices.Equal(renewed(n), want) })
		}
		two.kill()
		s.within(10*time.Second, "one that is away is named no longer", func() bool { return slices.Equal(renewed(s.nodes[0]), []string{one.name}) })
	})
}
