package quorum_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// A change of members waits for a store that is about to be admitted, and is refused if of those that are to decide too few are heard: a log whose
// members cannot decide never does again. Those that are away may be taken out, and what is so already is answered.
func TestAChangeThatCouldNotDecide(t *testing.T) {
	bubble(t, 5, 0, func(t *testing.T, s *site) {
		s.fill(4)
		s.equal(3 * time.Second)
		leader := s.leader()
		var rest []*node
		for _, n := range s.nodes {
			if n != leader {
				rest = append(rest, n)
			}
		}
		sets := func(without ...*node) (members []txlog.Member) {
			for _, m := range leader.run.Load().Status().Members {
				if !slices.ContainsFunc(without, func(n *node) bool { return n.name == m.Name }) {
					members = append(members, m)
				}
			}
			return members
		}
		change := func(members []txlog.Member) error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := leader.run.Load().Change(ctx, members, leader.run.Load().Status().MembersAt)
			return err
		}

		// Two are away: with a third one taken out the other two of four would be too few.
		rest[0].kill()
		rest[1].kill()
		pass(3 * time.Second)
		if err := change(sets(rest[2])); !errors.Is(err, txlog.ErrAway) {
			t.Errorf("two of four can decide: %v", err)
		}
		if err := change(sets()); err != nil {
			t.Errorf("the same members: %v", err)
		}
		if err := change(sets(rest[0])); err != nil {
			t.Errorf("one that is away is not taken out: %v", err)
		}

		// One comes back with a new store. The change is refused until that one is admitted.
		rest[1].store = store.NewMemory(77, s.genesis)
		rest[1].start()
		waits := func() bool { return len(leader.run.Load().Status().Renewed) > 0 }
		s.within(10*time.Second, "it asks to be admitted", waits)
		if err := change(sets(rest[2])); !errors.Is(err, txlog.ErrChanging) {
			t.Errorf("a store that waits counts: %v", err)
		}
		s.within(10*time.Second, "it is admitted", func() bool { return !waits() })
		if err := change(sets(rest[2])); err != nil {
			t.Error(err)
		}
		s.goes("after it")
	})
}
