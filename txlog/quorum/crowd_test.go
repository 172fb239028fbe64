package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// The users of the leader's own node take not all of the room either.
func TestItsOwnUsersFloodTheLeader(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.goes("before")
		l := s.leader()
		for _, n := range s.nodes[:3] { // nothing is committed for a while, and the leader does not know it yet
			if n != l {
				s.net.Cut(n.name, l.name)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		goal := func(n *node, id string) <-chan result[txlog.Answer] {
			return later(func() (txlog.Answer, error) {
				return n.run.Load().Goal(ctx, id, []byte(`{"op":"add","key":"count"}`), 0)
			})
		}
		var own []<-chan result[txlog.Answer]
		for i := range 1000 {
			own = append(own, goal(l, fmt.Sprint("own ", i)))
		}
		pass(50 * time.Millisecond)
		mine := goal(s.nodes[3], "mine")
		pass(50 * time.Millisecond)
		s.net.Heal()
		if r := <-mine; r.err != nil {
			t.Errorf("another node's goal: %v", r.err)
		}
		served := 0
		for _, one := range own {
			if r := <-one; r.err == nil {
				served++
			}
		}
		if served < 700 {
			t.Errorf("%d of its own users' goals are served", served)
		}
	})
}

// A node that floods the leader with goals or with reads takes the room of nobody else.
func TestANodeFloodsTheLeader(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"goals", "reads"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, 3, 2, func(t *testing.T, s *site) {
				s.goes("before")
				flood, l := s.raw("n5"), s.leader()
				for _, n := range s.nodes[:3] { // nothing is committed for a while, and the leader does not know it yet
					if n != l {
						s.net.Cut(n.name, l.name)
					}
				}
				for i := range 1000 {
					if what == "goals" {
						flood.say(l.name, wire.GoalSent{Try: uint64(i + 1), Goal: txlog.Goal{ID: fmt.Sprint("flood ", i), Body: []byte(`{"op":"add","key":"flood"}`), Since: 1}})
					} else {
						flood.say(l.name, wire.Confirm{Serial: uint64(i + 1)})
					}
					if i%250 == 249 {
						pass(10 * time.Millisecond)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				read := s.nodes[3].fresh(ctx)
				goal := later(func() (uint64, error) {
					a, err := s.nodes[3].run.Load().Goal(ctx, "mine", []byte(`{"op":"add","key":"count"}`), 0)
					return a.Index, err
				})
				pass(50 * time.Millisecond)
				s.net.Heal()
				if r := <-goal; r.err != nil {
					t.Errorf("another node's goal: %v", r.err)
				}
				if r := <-read; r.err != nil {
					t.Errorf("another node's read: %v", r.err)
				}
			})
		})
	}
}
