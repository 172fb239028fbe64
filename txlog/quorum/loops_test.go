package quorum_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// looping is a kv whose goal "loop" never ends, and whose query "loop" does not either.
type looping struct{ txlog.State }

func (l looping) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	for string(goal) == "loop" {
		budget.Spend(1)
	}
	return l.State.Execute(goal, budget)
}

func (l looping) View() txlog.View { return loopingView{l.State.View()} }

type loopingView struct{ txlog.View }

func (v loopingView) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	for string(query) == "loop" {
		budget.Spend(1)
	}
	return v.View.Query(query, budget)
}

// Queries that never end are refused, more of them than run at a time, and the next one is answered.
func TestAQueryThatNeverEnds(t *testing.T) {
	bubble(t, 1, 0, func(t *testing.T, s *site) {
		n := s.nodes[0]
		n.kill()
		n.with = func(c *quorum.Config) { c.New = func() txlog.State { return looping{kv.New()} } }
		n.start()
		s.goes("before")
		for i := range 2 * quorum.MostReading {
			ask := []func(context.Context, []byte) ([]byte, txlog.Position, error){n.run.Load().Query, n.run.Load().Fresh}[i%2]
			if answer, _, err := ask(t.Context(), []byte("loop")); !errors.Is(err, txlog.ErrBudget) {
				t.Fatalf("query %d has %q, %v", i, answer, err)
			}
		}
		if answer, _, err := n.run.Load().Query(t.Context(), []byte(`{"count":"no"}`)); err != nil || string(answer) != `{"count":0}` {
			t.Errorf("the next one has %q, %v", answer, err)
		}
	})
}

// A goal that never ends is committed as failed, with an empty diff. Its leader stays, and the log goes on (V3).
func TestAGoalThatNeverEnds(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) { c.New = func() txlog.State { return looping{kv.New()} } }
			n.start()
		}
		s.goes("before")
		before := s.leader().run.Load().Status()
		a, err := s.nodes[3].run.Load().Goal(t.Context(), "loop", []byte("loop"), 0)
		if err != nil || !errors.Is(txlog.FaultError(a.Fault), txlog.ErrBudget) || a.Index <= before.Position.Index {
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
