package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// copied returns what a node has stored, as a backup has it.
func (n *node) copied() *store.Memory {
	return n.store.(*store.Memory).Clone() //nolint:forcetypeassert // all stores of a site are in memory
}

// accused returns what a node knows against others, or they have told it.
func (n *node) accused() (all []string) {
	st := n.run.Load().Status()
	if st.Copy.Fork.B.Member != "" {
		all = append(all, fmt.Sprintf("a fork at %d", st.Copy.Fork.Index))
	}
	for _, d := range st.Copy.Doubts {
		all = append(all, "a head of "+d.Head.Member)
	}
	if st.Majority != nil && st.Majority.Fork != "" {
		all = append(all, st.Majority.Fork)
	}
	return all
}

// A member's store is restored, and it goes on with one that was away, without what was acknowledged since. The one that has it takes nothing of
// the new history for its own, and every node, whichever way it went, knows that the log has forked; the leader too, which hears of it by the
// other one's word alone.
func TestARestoredMemberForksTheLog(t *testing.T) {
	t.Parallel()
	for _, more := range []int{3, 30} { // than the member that is away has, or fewer
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			bubble(t, 3, 2, func(t *testing.T, s *site) {
				s.fill(10)
				s.equal(3 * time.Second)
				n1, n2, n3, n4, n5 := s.nodes[0], s.nodes[1], s.nodes[2], s.nodes[3], s.nodes[4]
				backup := n1.copied()
				n3.kill()
				n5.kill()
				s.fill(8)
				s.equal(3 * time.Second)
				for _, n := range []*node{n1, n2, n4} {
					n.kill()
				}
				n1.store = backup
				for _, n := range []*node{n1, n3, n5} {
					n.start()
				}
				s.within(10*time.Second, "one leads", func() bool { return s.leader() != nil })
				for i := range more {
					if _, err := n1.count(fmt.Sprint("new ", i)); err != nil {
						t.Fatal(err)
					}
				}
				n2.start()
				n4.start()
				at := n2.run.Load().Position()
				pass(20 * time.Second)
				s.goes("later")
				pass(20 * time.Second)
				for _, n := range s.nodes {
					if len(n.accused()) == 0 {
						t.Errorf("%s knows nothing: %+v", n.name, n.run.Load().Status())
					}
				}
				for _, n := range []*node{n2, s.leader()} {
					if st := n.run.Load().Status(); st.Majority == nil || st.Majority.Fork == "" {
						t.Errorf("%s is told nothing: %+v", n.name, st.Majority)
					}
				}
				if now := n2.run.Load().Position(); now != at {
					t.Errorf("n2 was at %d, and is at %d", at.Index, now.Index)
				}
				// Nobody counts the store whose history is another one: with it alone there is no majority.
				n3.kill()
				if n1.run.Load().Status().Leads {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					a, err := n1.run.Load().Goal(ctx, "alone", []byte(`{"op":"add","key":"count"}`), 0)
					if cancel(); err == nil {
						t.Errorf("it was acknowledged by n1 alone: %+v", a)
					}
				}
				n3.start()
			})
		})
	}
}

// What is restored or lost while the others know better does no harm, and accuses nobody: a follower's store, a member's while the others are there,
// and a member's that is gone.
func TestWhatIsRestoredHarmsNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who    int
		wiped  bool
		leader bool
	}{
		"a follower": {who: 3}, "a member": {who: 2}, "the leader": {leader: true}, "a wiped member": {who: 2, wiped: true}, "a wiped leader": {leader: true, wiped: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, 1, func(t *testing.T, s *site) {
				s.fill(10)
				s.equal(3 * time.Second)
				n := s.nodes[c.who]
				if c.leader {
					n = s.leader()
				}
				backup := n.copied()
				s.fill(20)
				s.equal(3 * time.Second)
				n.kill()
				n.store = backup
				if c.wiped {
					n.store = store.NewMemory(77, s.genesis)
				}
				n.with = func(cfg *quorum.Config) { cfg.SnapshotEvery = 50 }
				n.start()
				pass(5 * time.Second)
				if err := n.ends(); errors.Is(err, majority.ErrLost) || errors.Is(err, quorum.ErrLost) { // it has noticed itself, and goes on as its node would have it do
					n.store = store.NewMemory(78, s.genesis)
					n.start()
				}
				s.fill(10)
				s.equal(20 * time.Second)
				pass(20 * time.Second)
				for _, n := range s.nodes {
					if all := n.accused(); len(all) > 0 {
						t.Errorf("%s knows of %q", n.name, all)
					}
				}
				s.within(20*time.Second, "each member's store is a vote", func() bool {
					return !slices.ContainsFunc(s.nodes[:3], func(n *node) bool { return !n.run.Load().Status().Decides })
				})
			})
		})
	}
}

// ends returns with what a process has ended by itself; nil: it runs.
func (n *node) ends() error {
	select {
	case err := <-n.ended:
		n.run.Store(nil)
		n.site.net.Kill(n.name)
		n.stop()
		return err
	default:
		return nil
	}
}
