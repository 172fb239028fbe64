package txlogtest

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// ExerciseState is the suite that every state machine must pass. It executes the goals one after another, each on the state
// that those before it have left: name several that change something, some of them the same thing, and one that fails.
//
//	txlogtest.ExerciseState(t, kv.New, `{"op":"put","key":"a","value":1}`, `{"op":"add","key":"a"}`, `{"op":"add"}`)
//
// It judges what every node rests on, and cannot know what a goal means: that is for the machine's own tests. One whose goals may never
// end passes ExerciseLoop too, and each that answers queries ExerciseQueries.
func ExerciseState(t *testing.T, makeState func() txlog.State, goals ...string) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if err := judgeState(p, makeState, goals); err != nil {
				t.Error(err)
			}
		})
	}
}

type promise struct {
	name  string
	check func(*trial) error
}

var promises = []promise{
	{"execute changes nothing", executeChangesNothing},
	{"equal runs are equal", equalRuns},
	{"a goal that fails changes nothing", failuresChangeNothing},
	{"a goal has a budget", withinBudget},
	{"a diff is applied once", appliedOnce},
	{"what is refused changes nothing", refusedAsAWhole},
	{"a snapshot is the state", snapshots},
	{"the hash is of the content", hashOfContent},
	{"a view stays as it is", viewsStay},
	{"a reading is of then", readings},
	{"bytes are not shared", ownBytes},
	{"any bytes are taken", anyBytes},
	{"a log of it", inALog},
}

// trial is a state machine under test, with the history that its goals make.
type trial struct {
	make  func() txlog.State
	goals [][]byte
	steps []step
}

// step is a goal that was executed, with what came of it and the snapshot after it.
type step struct {
	goal     []byte
	outcome  txlog.Outcome
	before   []byte
	snapshot []byte
	hash     txlog.Hash
}

// judgeState returns the first fault. A panic is one.
func judgeState(p promise, makeState func() txlog.State, goals []string) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the state machine panics: %v", broken)
		}
	}()
	t := &trial{make: makeState}
	for _, g := range goals {
		t.goals = append(t.goals, []byte(g))
	}
	if t.steps, err = t.play(); err != nil {
		return err
	}
	changed, failed := 0, 0
	for _, s := range t.steps {
		if len(s.outcome.Diff) > 0 {
			changed++
		}
		if s.outcome.Fault != "" {
			failed++
		}
	}
	if changed < 2 || failed == 0 {
		return fmt.Errorf("%d goals change something and %d fail: name two and one at least", changed, failed)
	}
	return p.check(t)
}

// play executes all goals on a new state, and applies what comes of each.
func (t *trial) play() (all []step, err error) {
	s := t.make()
	before := s.Snapshot()
	for i, g := range t.goals {
		o := execute(s, clone(g))
		if err := o.Check(); err != nil {
			return nil, fmt.Errorf("goal %d comes out as what no entry takes: %w", i, err)
		}
		if err := s.Apply(clone(o.Diff)); err != nil {
			return nil, fmt.Errorf("goal %d: what Execute says is refused by Apply: %w", i, err)
		}
		all = append(all, step{goal: g, outcome: o, before: before, snapshot: s.Snapshot(), hash: s.Hash()})
		before = s.Snapshot()
	}
	return all, nil
}

// restored returns a state made of a snapshot.
func (t *trial) restored(snapshot []byte) (txlog.State, error) {
	s := t.make()
	if err := s.Restore(clone(snapshot)); err != nil {
		return nil, fmt.Errorf("a snapshot is not restored: %w", err)
	}
	return s, nil
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }
