package host_test

import (
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
