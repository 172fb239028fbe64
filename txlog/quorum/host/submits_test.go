package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/host"
)

// A leader that takes goals of certain nodes only tells another one that nothing was done. Those of members are taken in any case.
func TestGoalsOfNodesThatMayNotSubmit(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes[:3] {
			n.kill()
			n.with = func(cfg *host.Config) { cfg.Submits = func(string) bool { return false } }
			n.start()
		}
		s.within(time.Minute, "a leader", func() bool { return s.leader() != nil })
		for i, n := range s.nodes {
			answer, err := n.put(n.name, "a", i)
			if barred := errors.Is(err, txlog.ErrBarred); barred != (n.name == "n4") || !barred && err != nil {
				t.Errorf("%s submits a goal: %+v, %v", n.name, answer, err)
			}
		}
		if _, err := s.nodes[0].count("n4"); err != nil { // ErrGoalID, if another goal of this id was executed
			t.Error(err)
		}
	})
}

// A node whose goals the leader does not take is told so, also if the member that it has asked first says nothing: that one led when the
// node heard of it, and is cut off.
func TestARefusalWinsOverSilence(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes[:3] {
			n.kill()
			n.with = func(cfg *host.Config) { cfg.Submits = func(string) bool { return false } }
			n.start()
		}
		s.within(time.Minute, "a leader that all know", func() bool {
			l := s.leader()
			return l != nil && s.nodes[3].run.Load().Status().Leader == l.name
		})
		for _, n := range s.nodes {
			if l := s.leader(); n != l {
				s.net.Cut(n.name, l.name)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 17*time.Second)
		defer cancel()
		answer, err := s.nodes[3].run.Load().Goal(ctx, "g1", []byte(`{"op":"put","key":"a","value":1}`), 0)
		if !errors.Is(err, txlog.ErrBarred) {
			t.Errorf("got %+v, %v", answer, err)
		}
	})
}
