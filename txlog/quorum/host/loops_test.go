package host_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/host"
)

// looping is a kv whose goal "loop" never ends.
type looping struct{ txlog.State }

func (l looping) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	for string(goal) == "loop" {
		budget.Spend(1)
	}
	return l.State.Execute(goal, budget)
}

// A goal that never ends is committed as failed, with an empty diff. Its leader stays, and the log goes on (V3).
func TestAGoalThatNeverEnds(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *host.Config) { c.New = func() txlog.State { return looping{kv.New()} } }
			n.start()
		}
		s.goes("before")
		before := s.leader().run.Load().Status()
		a, err := s.nodes[3].run.Load().Goal(t.Context(), "loop", []byte("loop"), 0, 0)
		if err != nil || !strings.HasPrefix(a.Fault, txlog.ErrBudget.Error()) || a.Index <= before.Position.Index {
			t.Fatalf("%+v, %v", a, err)
		}
		s.goes("after")
		s.equal(5 * time.Second)
		for _, n := range s.nodes {
			records, err := n.store.Records(a.Index, 1)
			if err != nil || len(records) == 0 || records[0].GoalID != "loop" || len(records[0].Diff)+len(records[0].Result) > 0 {
				t.Errorf("%s has %+v, %v", n.name, records, err)
			}
		}
		if now := s.leader().run.Load().Status(); now.Term != before.Term {
			t.Errorf("the term was %d, and is %d", before.Term, now.Term)
		}
	})
}
