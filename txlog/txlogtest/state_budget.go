package txlogtest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// ExerciseLoop is the suite's part for a state machine whose goals may take many steps, or never end: name one that does not end. It has
// to fail, change nothing, and come out in the same way everywhere, and the log goes on.
func ExerciseLoop(t *testing.T, makeState func() txlog.State, goal string) {
	t.Helper()
	if err := judgeLoop(makeState, []byte(goal)); err != nil {
		t.Error(err)
	}
}

func judgeLoop(makeState func() txlog.State, goal []byte) error {
	g := exercise()
	leader, follower := txlog.NewCopy(g, makeState), txlog.NewCopy(g, makeState)
	before := leader.Hash()
	o := leader.Execute(clone(goal))
	switch again := leader.Execute(clone(goal)); {
	case !isOver(o):
		return fmt.Errorf("the goal that never ends comes out as %s, and not by its budget", shown(o))
	case !reflect.DeepEqual(o, again):
		return fmt.Errorf("it comes out once as %s, once as %s", shown(o), shown(again))
	case leader.Hash() != before:
		return errors.New("it has changed the state")
	}
	r, err := leader.Next(txlog.Entry{Kind: txlog.Executed, Term: 1, Leader: leads, GoalID: "loop", Goal: goal, Fault: o.Fault})
	if err != nil {
		return fmt.Errorf("what came of it is no entry: %w", err)
	}
	if err := follower.Apply(r); err != nil {
		return fmt.Errorf("what came of it, at a follower: %w", err)
	}
	return leader.Scrub()
}

// withinBudget: every goal spends steps; with too few it fails and changes nothing, and with enough it comes out as ever.
func withinBudget(t *trial) error {
	for i, step := range t.steps {
		s, err := t.restored(step.before)
		if err != nil {
			return err
		}
		hash := s.Hash()
		for steps := 0; ; steps = 2*steps + 1 {
			o := txlog.RunWithin(s, clone(step.goal), steps)
			if err := same(s, step.before, hash, "after goal %d with %d steps", i, steps); err != nil {
				return err
			}
			if isOver(o) && steps < limits.MostSteps {
				continue
			}
			if !reflect.DeepEqual(o, step.outcome) {
				return fmt.Errorf("with %d steps goal %d comes out as %s, not as %s", steps, i, shown(o), shown(step.outcome))
			}
			if steps == 0 && len(step.goal) > 0 {
				return fmt.Errorf("goal %d spends nothing of its budget: its length at least", i)
			}
			break
		}
	}
	return nil
}

// ExerciseQueries is the suite's part for queries: name some that are answered once the goals are executed. Each changes nothing, and spends
// of its budget; with too few steps it is refused, and with enough it is answered as ever.
func ExerciseQueries(t *testing.T, makeState func() txlog.State, goals []string, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if err := judgeQuery(makeState, goals, q); err != nil {
			t.Error(err)
		}
	}
}

func judgeQuery(makeState func() txlog.State, goals []string, text string) error {
	s := makeState()
	for _, g := range goals {
		if err := s.Apply(execute(s, []byte(g)).Diff); err != nil {
			return fmt.Errorf("goal %s: %w", g, err)
		}
	}
	snapshot, hash := s.Snapshot(), s.Hash()
	want, err := txlog.Ask(s.View(), []byte(text))
	if err != nil {
		return fmt.Errorf("the query %s is not answered: %w", text, err)
	}
	for steps := 0; ; steps = 2*steps + 1 {
		answer, err := txlog.AskWithin(s.View(), []byte(text), steps)
		if err := same(s, snapshot, hash, "after the query %s with %d steps", text, steps); err != nil {
			return err
		}
		switch {
		case errors.Is(err, txlog.ErrBudget) && steps < limits.MostSteps:
			continue
		case err != nil:
			return fmt.Errorf("with %d steps the query %s is not answered: %w", steps, text, err)
		case !bytes.Equal(answer, want):
			return fmt.Errorf("with %d steps the query %s has %.100q, and not %.100q", steps, text, answer, want)
		case steps == 0:
			return fmt.Errorf("the query %s spends nothing of its budget: its length at least", text)
		}
		return nil
	}
}

// query asks a view within its budget. Everything else that breaks the state machine goes on to break it.
func query(v txlog.View, text []byte) (answer []byte, err error) {
	defer func() {
		switch why := recover(); why {
		case nil:
		case txlog.ErrBudget:
			err = txlog.ErrBudget
		default:
			panic(why)
		}
	}()
	return v.Query(text, txlog.NewBudget(limits.MostSteps))
}

// isOver reports whether a goal has used its budget up.
func isOver(o txlog.Outcome) bool {
	return errors.Is(txlog.FaultError(o.Fault), txlog.ErrBudget) && len(o.Result)+len(o.Diff)+len(o.Effects) == 0
}

// execute executes a goal within its budget. Everything else that breaks the state machine goes on to break it.
func execute(s txlog.State, goal []byte) (o txlog.Outcome) {
	defer func() {
		switch why := recover(); why {
		case nil:
		case txlog.ErrBudget:
			o = txlog.Failed(txlog.ErrBudget.Error())
		default:
			panic(why)
		}
	}()
	return s.Execute(goal, txlog.NewBudget(limits.MostSteps))
}
