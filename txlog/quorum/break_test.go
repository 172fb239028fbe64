package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// goes checks that the log takes a goal.
func (s *site) goes(id string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for _, n := range s.nodes {
		if h := n.run.Load(); h != nil {
			if _, err := h.Goal(ctx, id, []byte(`{"op":"add","key":"goes"}`), 0); err != nil {
				s.t.Fatalf("%s: the log does not go on: %v\n%s", id, err, s.view())
			}
			return
		}
	}
}

// A set of members that the authority takes from nobody is refused before it is an entry: nothing could follow that one.
func TestMembersThatNobodyTakes(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.goes("before")
		set := slices.Clone(s.genesis.Members)
		set[2].Store = 1 << 63
		if _, err := s.leader().run.Load().Change(t.Context(), set, 0); !errors.Is(err, txlog.ErrMalformed) {
			t.Errorf("a store's id of 64 bits: %v", err)
		}
		s.goes("after a change")
		n := s.nodes[2]
		if s.leader() == n {
			n = s.nodes[1]
		}
		r := s.raw(n.name)
		s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
		r.say(s.leader().name, wire.Admit{Store: 1 << 63, Key: fingerprint(n.key)})
		pass(time.Second)
		s.goes("after an admission")
	})
}

// A member that was removed while it was away learns so from the others, and follows.
func TestAMemberIsRemovedWhileItIsAway(t *testing.T) {
	t.Parallel()
	for _, far := range []int{10, 450} {
		t.Run(fmt.Sprint(far), func(t *testing.T) {
			bubble(t, 3, 2, func(t *testing.T, s *site) {
				s.fill(20)
				away := s.nodes[2]
				away.kill()
				s.change([]txlog.Member{s.nodes[0].member(), s.nodes[1].member(), s.nodes[3].member()})
				s.fill(far)
				away.start()
				s.equal(30 * time.Second)
				s.within(10*time.Second, "it is a follower", func() bool { return !away.run.Load().Status().Decides })
				if _, err := away.put("from there", "k", 1); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A member that was away while all others were replaced goes on with the new ones.
func TestAMemberIsAwayWhileTheOthersAreReplaced(t *testing.T) {
	t.Parallel()
	for _, far := range []int{10, 450} {
		t.Run(fmt.Sprint(far), func(t *testing.T) {
			bubble(t, 3, 4, func(t *testing.T, s *site) {
				s.fill(20)
				away := s.nodes[2]
				away.kill()
				s.change([]txlog.Member{s.nodes[0].member(), s.nodes[1].member(), away.member(), s.nodes[3].member(), s.nodes[4].member()})
				s.fill(10)
				s.change([]txlog.Member{away.member(), s.nodes[3].member(), s.nodes[4].member()})
				s.fill(far)
				s.equal(10 * time.Second)
				s.nodes[0].kill()
				s.nodes[1].kill()
				away.start()
				s.equal(30 * time.Second)
				s.nodes[4].kill() // now nothing is committed without it
				s.within(20*time.Second, "one leads", func() bool { return s.leader() != nil })
				if _, err := away.put("from there", "k", 1); err != nil {
					t.Error(err)
				}
				if away.run.Load().Inside().Copy.Following {
					t.Error("it leads or hears a leader, and follows all the same")
				}
			})
		})
	}
}

// A node from nothing that takes a snapshot over knows who the members are now, and who led last.
func TestGoalsAfterASnapshot(t *testing.T) {
	bubble(t, 3, 3, func(t *testing.T, s *site) {
		last := s.nodes[5]
		last.kill()
		s.fill(20)
		s.change([]txlog.Member{s.nodes[0].member(), s.nodes[3].member(), s.nodes[4].member()})
		s.fill(10)
		s.change([]txlog.Member{s.nodes[3].member(), s.nodes[4].member()})
		for i := range 450 {
			if _, err := s.nodes[3].count(fmt.Sprint("more ", i)); err != nil {
				t.Fatal(err)
			}
		}
		s.equal(5 * time.Second)
		for _, n := range s.nodes[:3] {
			n.kill()
		}
		last.start()
		s.equal(20 * time.Second)
		began := time.Now()
		if _, err := last.put("from there", "k", 1); err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
