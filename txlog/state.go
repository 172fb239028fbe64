package txlog

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// State is a state machine: what the goals of a log change. Package kv has one, and teaches how to write another.
//
// A state is used by one goroutine at a time. Two states to which the same diffs were applied have the same hash and the same
// snapshot, on every machine and in every version of the program: none of them may ask for the time, for chance, or
// for the order of a map.
type State interface { //nolint:interfacebloat // what the log asks of a state is one thing, and half of it is worth nothing
	// Execute runs a goal, and changes nothing: what it would change is in the outcome's diff. Only the leader executes. What
	// fails is an outcome with a fault. Each loop whose turns depend on the goal or the state spends of the budget, also one that
	// surely ends: all other goals wait meanwhile. A goal that uses it up fails (see Budget.Spend).
	Execute(goal []byte, budget *Budget) Outcome
	// Apply makes the changes of a diff. It checks first that the values before are the ones that are here: the error is
	// ErrDiff or ErrMalformed, and then nothing has changed. A diff of no bytes changes nothing.
	Apply(diff []byte) error
	// View returns the state as it is now, for questions. What is applied later does not show in it.
	View() View
	// Hash returns the hash of the whole state. It is kept while diffs are applied, since it is asked for after each entry. Nobody may
	// find two states with one hash, also if all that is in them is of one's own choice: any node may serve the state to others, and
	// this hash is all that a member signs of it. Tree is such a hash.
	Hash() Hash
	// Snapshot returns the whole state as bytes, MostState at most. A goal that would make it larger has to fail.
	Snapshot() []byte
	// Restore replaces the state by a snapshot, and computes its hash from what is in it. After an error, ErrMalformed, the
	// state must not be used.
	Restore(snapshot []byte) error
}

// View is what a state was at one time. It never changes, and several goroutines may ask it at a time, whatever the state does meanwhile.
type View interface {
	// Query answers a question. The error is the asker's fault. Each loop whose turns depend on the query or the state spends of the
	// budget, as in Execute: a query that uses it up is refused.
	Query(query []byte, budget *Budget) ([]byte, error)
}

// Gradual is a state that reads itself in parts. One that is not is read at once for a scrub or a snapshot, and goals wait.
type Gradual interface {
	State
	// Read begins to read the whole state as it is now. Diffs are applied meanwhile, and another reading may go on. With bytes it
	// also makes the snapshot of now.
	Read(bytes bool) Reading
}

// Reading reads a state as it was when the reading began: a View shows how. It is used by one goroutine at a time, and one that is
// not wanted any more is just dropped.
type Reading interface {
	// Next reads at least one of so many parts, of about the same size; it may join parts of a small state. It reports whether
	// all is read.
	Next(parts uint64) (done bool)
	// Hash returns what State.Hash would have returned when the reading began, computed from all that was read.
	Hash() Hash
	// Snapshot returns what State.Snapshot would have returned, if it was asked for. Any goroutine may ask once all is read.
	Snapshot() []byte
}

// Outcome is what came of a goal. One with a fault has neither diff nor effects.
type Outcome struct {
	Result  []byte
	Fault   string
	Diff    []byte
	Effects []Effect
}

// Failed returns the outcome of a goal that has failed.
func Failed(why string) Outcome {
	if why == "" {
		why = "it has failed"
	}
	for len(why) > limits.MostFault || !utf8.ValidString(why) {
		why = cut(why)
	}
	return Outcome{Fault: why}
}

// cut shortens a text to its limit and takes out what is no text.
func cut(s string) string {
	out := make([]rune, 0, limits.MostFault)
	size := 0
	for _, r := range s {
		if size += utf8.RuneLen(r); size > limits.MostFault {
			break
		}
		out = append(out, r)
	}
	return string(out)
}

// Check returns the first limit that the outcome breaks. The error is ErrMalformed or ErrSize.
func (o Outcome) Check() error {
	switch {
	case len(o.Result) > limits.MostResult:
		return fault(ErrSize, "a result of %d bytes, of %d at most", len(o.Result), limits.MostResult)
	case len(o.Fault) > limits.MostFault || !utf8.ValidString(o.Fault):
		return fault(ErrSize, "why a goal has failed is a text of %d bytes at most", limits.MostFault)
	case o.Fault != "" && (len(o.Diff) > 0 || len(o.Effects) > 0):
		return fault(ErrMalformed, "a goal that has failed changes nothing")
	case len(o.Diff) > limits.MostDiff:
		return fault(ErrSize, "a diff of %d bytes, of %d at most", len(o.Diff), limits.MostDiff)
	case len(o.Effects) > limits.MostEffects:
		return fault(ErrSize, "%d effects, of %d at most", len(o.Effects), limits.MostEffects)
	}
	for _, f := range o.Effects {
		if f.Kind == "" || len(f.Kind) > limits.MostName || !utf8.ValidString(f.Kind) || len(f.Body) > limits.MostEffect {
			return fault(ErrSize, "an effect has a kind of 1 to %d bytes and a body of %d at most", limits.MostName, limits.MostEffect)
		}
	}
	return nil
}

// Run executes a goal on a state, and makes an outcome of everything: what breaks a limit or takes more than a million steps (see Budget) has failed, and so
// has what breaks the state machine, which would otherwise end one leader after another (V3). The limit is a constant, and no word of
// the genesis: only the leader executes, and everybody else has what came of it in the entry.
func Run(s State, goal []byte) Outcome { return RunWithin(s, goal, limits.MostSteps) }

// RunWithin is Run with another number of steps.
func RunWithin(s State, goal []byte, steps int) (o Outcome) {
	budget := NewBudget(steps)
	defer func() {
		switch broken := recover(); {
		case budget.over: // whatever the state machine has made of it
			o = Failed(budget.explained(fmt.Sprint(overspent, steps)))
		case broken != nil:
			o = Failed(fmt.Sprint("the state machine is broken: ", broken))
		}
	}()
	o = s.Execute(goal, budget)
	if errors.Is(FaultError(o.Fault), ErrBudget) { // it says what is not so
		o.Fault = Failed("it says: " + o.Fault).Fault
	}
	if err := o.Check(); err != nil {
		return Failed(err.Error())
	}
	return o
}

// Ask asks a view. What breaks the state machine is the question's fault, and so is what takes more than a million steps (ErrBudget).
func Ask(v View, query []byte) (answer []byte, err error) {
	return AskWithin(v, query, limits.MostSteps)
}

// AskWithin is Ask with another number of steps.
func AskWithin(v View, query []byte, steps int) (answer []byte, err error) {
	budget := NewBudget(steps)
	defer func() {
		switch broken := recover(); {
		case budget.over: // whatever the state machine has made of it
			answer, err = nil, fault(ErrBudget, "%s", budget.explained(fmt.Sprintf("the query takes more than %d: ask for less at once", steps)))
		case broken != nil:
			err = fault(ErrMalformed, "the state machine is broken by this query: %v", broken)
		}
	}()
	return v.Query(query, budget)
}
