package txlogtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/kv"
)

var kvGoals = []string{
	`{"op":"put","key":"a","value":1}`, `{"op":"add","key":"a","by":2}`, `{"op":"cas","key":"b","absent":true,"value":{"x":[1,2]}}`,
	`{"ops":[{"op":"put","key":"c","value":"three"},{"op":"delete","key":"a"},{"op":"put","key":"d","base64":"AAE="}]}`,
	`{"op":"cas","key":"b","expect":1,"value":2}`, `{"op":"put","key":"c","value":"three"}`, `{"op":"delete","key":"d"}`, `{"op":"add","key":"n"}`,
}

// broken is a store of which something does not do what it should.
type broken struct {
	txlog.State

	execute  func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome
	apply    func(s txlog.State, diff []byte) error
	query    func(s txlog.State, query []byte, budget *txlog.Budget) ([]byte, error)
	hash     func(s txlog.State) txlog.Hash
	snapshot func(s txlog.State) []byte
	restore  func(s txlog.State, snapshot []byte) error
}

func (b *broken) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	if b.execute != nil {
		return b.execute(b.State, goal, budget)
	}
	return b.State.Execute(goal, budget)
}

func (b *broken) Apply(diff []byte) error {
	if b.apply != nil {
		return b.apply(b.State, diff)
	}
	return b.State.Apply(diff)
}

func (b *broken) View() txlog.View {
	if b.query != nil {
		return brokenView{b}
	}
	return b.State.View()
}

type brokenView struct{ of *broken }

func (v brokenView) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	return v.of.query(v.of.State, query, budget)
}

func (b *broken) Hash() txlog.Hash {
	if b.hash != nil {
		return b.hash(b.State)
	}
	return b.State.Hash()
}

func (b *broken) Snapshot() []byte {
	if b.snapshot != nil {
		return b.snapshot(b.State)
	}
	return b.State.Snapshot()
}

func (b *broken) Restore(snapshot []byte) error {
	if b.restore != nil {
		return b.restore(b.State, snapshot)
	}
	return b.State.Restore(snapshot)
}

// Each promise is broken by a state machine that the suite has to catch.
func TestBrokenStatesAreCaught(t *testing.T) {
	t.Parallel()
	for _, p := range promises {
		if err := judgeState(p, kv.New, kvGoals); err != nil {
			t.Fatalf("%s: a good one fails: %v", p.name, err)
		}
	}
	calls := 0
	for _, c := range []struct {
		promise, says string
		state         func() *broken
	}{
		{"execute changes nothing", "after Execute", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome {
				o := s.Execute(goal, budget)
				_ = s.Apply(s.Execute([]byte(`{"op":"add","key":"executed"}`), nil).Diff)
				return o
			}}
		}},
		{"execute changes nothing", "was changed", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome {
				defer clear(goal)
				return s.Execute(goal, budget)
			}}
		}},
		{"execute changes nothing", "after Query", func() *broken {
			return &broken{query: func(s txlog.State, query []byte, _ *txlog.Budget) ([]byte, error) {
				return nil, s.Apply(s.Execute(query, nil).Diff)
			}}
		}},
		{"equal runs are equal", "comes out once as", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome {
				o := s.Execute(goal, budget)
				if calls++; calls%50 == 0 {
					o.Result = fmt.Append(nil, calls)
				}
				return o
			}}
		}},
		{"a goal that fails changes nothing", "with the fault", func() *broken {
			return &broken{hash: func(txlog.State) (h txlog.Hash) { return h }}
		}},
		{"a goal that fails changes nothing", "a diff of no bytes", func() *broken {
			return &broken{apply: func(s txlog.State, diff []byte) error {
				if len(diff) == 0 {
					return s.Apply(s.Execute([]byte(`{"op":"add","key":"calls"}`), nil).Diff)
				}
				return s.Apply(diff)
			}}
		}},
		{"a goal has a budget", "spends nothing", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, _ *txlog.Budget) txlog.Outcome { return s.Execute(goal, nil) }}
		}},
		{"a goal has a budget", "with 1 steps", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome {
				budget.Spend(1)
				_ = s.Apply(s.Execute([]byte(`{"op":"add","key":"half"}`), nil).Diff)
				return s.Execute(goal, budget)
			}}
		}},
		{"a diff is applied once", "a second time", func() *broken {
			return &broken{apply: func(s txlog.State, diff []byte) error {
				_ = s.Apply(diff)
				return nil
			}}
		}},
		{"what is refused changes nothing", "neither ErrDiff nor", func() *broken {
			return &broken{apply: func(s txlog.State, diff []byte) error {
				if err := s.Apply(diff); err != nil {
					return fmt.Errorf("no: %v", err) //nolint:errorlint // on purpose
				}
				return nil
			}}
		}},
		{"what is refused changes nothing", "was refused", func() *broken {
			return &broken{apply: func(s txlog.State, diff []byte) error {
				err := s.Apply(diff)
				if err != nil {
					_ = s.Apply(s.Execute([]byte(`{"op":"add","key":"refused"}`), nil).Diff)
				}
				return err
			}}
		}},
		{"a snapshot is the state", "is another one", func() *broken {
			return &broken{restore: func(s txlog.State, snapshot []byte) error {
				if len(s.Snapshot()) > 3 { // it does not forget
					return nil
				}
				return s.Restore(snapshot)
			}}
		}},
		{"the hash is of the content", "not that of the snapshot", func() *broken {
			applied := uint64(0)
			return &broken{
				apply: func(s txlog.State, diff []byte) error {
					if len(diff) > 0 {
						applied++
					}
					return s.Apply(diff)
				},
				hash: func(s txlog.State) txlog.Hash {
					h := s.Hash()
					h[0] += byte(applied)
					return h
				},
			}
		}},
		{"the hash is of the content", "the content is another one", func() *broken {
			return &broken{hash: func(s txlog.State) (h txlog.Hash) {
				h[0] = byte(len(s.Snapshot()))
				return h
			}}
		}},
		{"a view stays as it is", "answers", func() *broken {
			return &broken{query: func(s txlog.State, _ []byte, _ *txlog.Budget) ([]byte, error) { return s.Snapshot(), nil }}
		}},
		{"bytes are not shared", "were used for something else", func() *broken {
			var held []byte
			b := &broken{}
			b.apply = func(s txlog.State, diff []byte) error {
				if len(diff) > 0 {
					held = diff
				}
				return s.Apply(diff)
			}
			b.snapshot = func(s txlog.State) []byte {
				return append(s.Snapshot(), held...)
			}
			b.restore = func(txlog.State, []byte) error { return nil }
			return b
		}},
		{"any bytes are taken", "panics", func() *broken {
			return &broken{query: func(s txlog.State, query []byte, _ *txlog.Budget) ([]byte, error) { return query[1:2], nil }}
		}},
		{"any bytes are taken", "panics", func() *broken {
			return &broken{restore: func(s txlog.State, snapshot []byte) error {
				_ = snapshot[2]
				return s.Restore(snapshot)
			}}
		}},
		{"a log of it", "spoiled", func() *broken {
			return &broken{restore: func(txlog.State, []byte) error { return nil }}
		}},
		{"a log of it", "comes out as what no entry takes", func() *broken {
			return &broken{execute: func(s txlog.State, goal []byte, budget *txlog.Budget) txlog.Outcome {
				o := s.Execute(goal, budget)
				o.Result = make([]byte, limits.MostResult+1)
				return o
			}}
		}},
	} {
		at := slices.IndexFunc(promises, func(p promise) bool { return p.name == c.promise })
		err := judgeState(promises[at], func() txlog.State {
			b := c.state()
			b.State = kv.New()
			return b
		}, kvGoals)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the suite says %v, want %q", c.promise, err, c.says)
		}
	}
}

// ofNow reads its state as it is when it is asked, and not as it was.
type ofNow struct{ *kv.State }

func (s ofNow) Read(bool) txlog.Reading { return s }
func (s ofNow) Next(uint64) bool        { return true }

// A reading of another time is caught.
func TestAReadingOfNowIsCaught(t *testing.T) {
	t.Parallel()
	at := slices.IndexFunc(promises, func(p promise) bool { return p.name == "a reading is of then" })
	err := judgeState(promises[at], func() txlog.State {
		s, _ := kv.New().(*kv.State)
		return ofNow{s}
	}, kvGoals)
	if err == nil || !strings.Contains(err.Error(), "another hash than") {
		t.Errorf("the suite says %v", err)
	}
}

// Goals that prove nothing are refused: all of them fail, or none does.
func TestGoalsThatProveNothing(t *testing.T) {
	t.Parallel()
	for _, goals := range [][]string{nil, kvGoals[:4], {"x", "y", "z"}, {kvGoals[0], "x"}} {
		if err := judgeState(promises[0], kv.New, goals); err == nil || !strings.Contains(err.Error(), "name two and one") {
			t.Errorf("%d goals: %v", len(goals), err)
		}
	}
}

// Mutations are many, and none is what it was made of.
func TestMutations(t *testing.T) {
	t.Parallel()
	from := []byte("some bytes")
	all := mutated(from, 7, 200)
	if len(all) < 150 || slices.ContainsFunc(all, func(b []byte) bool { return bytes.Equal(b, from) }) || string(from) != "some bytes" {
		t.Errorf("%d mutations of %q", len(all), from)
	}
}

// A machine that does not hear that its budget is used up, or forgets to spend, is caught.
func TestALoop(t *testing.T) {
	t.Parallel()
	loops := func(is func(n int) bool, first func(s txlog.State)) func() txlog.State {
		n := 0
		return func() txlog.State {
			return &broken{State: kv.New(), execute: func(s txlog.State, _ []byte, budget *txlog.Budget) txlog.Outcome {
				first(s)
				for n++; is(n); {
					budget.Spend(1)
				}
				return s.Execute([]byte(`{"op":"add","key":"n"}`), budget)
			}}
		}
	}
	always, nothing := func(int) bool { return true }, func(txlog.State) {}
	ExerciseLoop(t, loops(always, nothing), "loop")
	for says, state := range map[string]func() txlog.State{
		"not by its budget": loops(func(int) bool { return false }, nothing),
		"once as":           loops(func(n int) bool { return n == 1 }, nothing),
		"has changed the state": loops(always, func(s txlog.State) {
			_ = s.Apply(s.Execute([]byte(`{"op":"add","key":"half"}`), nil).Diff)
		}),
	} {
		if err := judgeLoop(state, []byte("loop")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the suite says %v, want %q", err, says)
		}
	}
}

// Queries that spend nothing, that change something, or that are answered otherwise each time, are caught.
func TestQueriesAreJudged(t *testing.T) {
	t.Parallel()
	asked := 0
	asks := func(query func(s txlog.State, query []byte, budget *txlog.Budget) ([]byte, error)) func() txlog.State {
		return func() txlog.State { return &broken{State: kv.New(), query: query} }
	}
	for says, query := range map[string]func(s txlog.State, query []byte, budget *txlog.Budget) ([]byte, error){
		"spends nothing": func(s txlog.State, query []byte, _ *txlog.Budget) ([]byte, error) { return s.View().Query(query, nil) },
		"after the query": func(s txlog.State, query []byte, budget *txlog.Budget) ([]byte, error) {
			_ = s.Apply(s.Execute([]byte(`{"op":"add","key":"asked"}`), nil).Diff)
			return s.View().Query(query, budget)
		},
		"with 1 steps": func(_ txlog.State, _ []byte, budget *txlog.Budget) ([]byte, error) {
			budget.Spend(1)
			asked++
			return fmt.Append(nil, asked), nil
		},
		"is not answered": func(_ txlog.State, _ []byte, budget *txlog.Budget) ([]byte, error) {
			for {
				budget.Spend(1)
			}
		},
	} {
		if err := judgeQuery(asks(query), kvGoals, `{"get":"a"}`); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the suite says %v, want %q", err, says)
		}
	}
}
