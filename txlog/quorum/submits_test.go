package quorum_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum"
)

// A leader that takes goals of certain nodes only tells another one that nothing was done. Those of members are taken in any case.
func TestGoalsOfNodesThatMayNotSubmit(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes[:3] {
			n.kill()
			n.with = func(cfg *quorum.Config) { cfg.Submits = func(string) bool { return false } }
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
			n.with = func(cfg *quorum.Config) { cfg.Submits = func(string) bool { return false } }
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

// A goal that a member has kept while nobody led is not executed when it comes to lead, if its node may not submit: that is told so.
func TestAGoalFromBeforeTheElection(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.equal(3 * time.Second)
		n := s.nodes[1]
		for _, of := range s.nodes[:3] {
			of.kill()
			of.with = func(cfg *quorum.Config) { cfg.Submits = func(string) bool { return false } }
		}
		guest := s.raw("n4")
		n.start()
		pass(round) // it hears the guest
		guest.say(n.name, wire.GoalSent{Try: 1, Goal: txlog.Goal{ID: "g1", Body: []byte(`{"op":"put","key":"a","value":1}`)}})
		pass(round)
		s.nodes[0].start()
		for _, of := range s.nodes[:2] {
			of.run.Load().Suggest(n.name)
		}
		if a := hears[wire.GoalDone](guest); !errors.Is(a.Err, txlog.ErrBarred) {
			t.Errorf("it was answered %+v, %v; %v leads", a.Answer, a.Err, s.leader().name)
		}
		s.within(10*time.Second, n.name+" leads", func() bool { return s.leader() == n })
		if _, err := n.count("g1"); err != nil { // ErrGoalID, if the other goal of this id was executed
			t.Error(err)
		}
	})
}
