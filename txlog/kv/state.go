package kv

import (
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
)

// State is a store of keys and values, a [txlog.State] that reads itself in parts. It is used by one goroutine at a time.
type State struct{ keyed.Store }

var _ txlog.Gradual = (*State)(nil)

var rules = keyed.Rules{Machine: Machine, Header: "kv1", Key: isKey, Value: isValue, MostKeys: mostKeys, MostContent: mostContent}

// New returns an empty store.
func New() txlog.State { return &State{keyed.New(&rules)} }

// Execute runs a goal. It reads the store, and keeps what it would change for itself.
func (s *State) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	budget.Spend(len(goal))
	ops, alone, err := parseGoal(goal)
	if err != nil {
		return txlog.Failed(err.Error())
	}
	d := s.Draft()
	results := make([]string, len(ops))
	for i, o := range ops {
		budget.Spend(1 + len(o.value))
		if results[i], err = o.run(&d); err != nil {
			return txlog.Failed(at(err, i, alone).Error())
		}
	}
	diff, err := d.Diff()
	if err != nil {
		return txlog.Failed(limit(err.Error()).Error())
	}
	result := results[0]
	if !alone {
		result = "[" + strings.Join(results, ",") + "]"
	}
	return txlog.Outcome{Result: []byte(result), Diff: diff}
}

// View returns the store as it is, for questions. What is shared with it is copied before it changes.
func (s *State) View() txlog.View { return view{s.Store.View()} }
