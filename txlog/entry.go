package txlog

import (
	"slices"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Kind says what an entry is for.
type Kind uint8

// The kinds of entries.
const (
	Opening   Kind = 1 + iota // the first one of a term: its leader executes nothing before it has applied it
	Executed                  // a goal, and what came of it
	Changed                   // another set of members
	Scrubbed                  // the state's hash, computed anew from the whole of it
	Performed                 // effects up to a key have been performed
)

// Changing reports whether a change of members may go on after an entry of this kind, if it may before. A leader has it ended before it
// executes anything: only openings come in between.
func (k Kind) Changing(before bool) bool { return k == Changed || k == Opening && before }

var kinds = [...]string{"", "opening", "goal", "members", "scrub", "performed"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Entry is one step of a log. Everything that a node needs to take the step is in it: what a goal has changed is never sent or stored
// apart from the goal (V1), and nobody executes it a second time (B14).
type Entry struct {
	Log    ID
	Index  uint64 // without gaps, from 1, or from the one after the parent's
	Term   uint64 // in which it was executed; it is never proposed in another one
	Prev   Hash   // of the entry before; of the genesis, if there is none
	Kind   Kind
	Leader string // the member that has made it
	At     int64  // milliseconds since 1970 by the leader's clock, for people: it decides nothing (S12)
	State  Hash   // of the copy after the entry

	// With Executed. A goal that has failed has a Fault and no Diff: nothing of it stays (V3, V4).
	GoalID  string
	Goal    []byte
	Result  []byte   // the goal's bindings
	Fault   string   // why it has failed; empty: it has not
	Diff    []byte   // what it changes, with the values before
	Effects []Effect // what is to be done outside, after the commit

	Members []Member // with Changed: the new set, sorted by name
	Upto    Key      // with Performed
}

// Effect is something that a goal wants done outside of the log. It is performed after the commit, at least once.
type Effect struct {
	Kind string // chooses what performs it
	Body []byte
}

// Key names an effect: its performer can refuse a repetition by it.
type Key struct {
	Index uint64 // of the entry
	N     uint64 // the effect's place in it, from 0
}

// Before reports whether a key is of an earlier effect.
func (k Key) Before(other Key) bool {
	return k.Index < other.Index || k.Index == other.Index && k.N < other.N
}

// Check returns the first fault that the entry has by itself. The error is ErrMalformed, ErrSize, or ErrVersion for a kind that is
// none yet.
func (e *Entry) Check() error {
	switch {
	case e.Kind < Opening || e.Kind > Performed:
		return fault(ErrVersion, "an entry of kind %d", e.Kind)
	case e.Index == 0 || e.Term == 0:
		return fault(ErrMalformed, "an entry's index and term are above 0")
	case e.Leader == "" || len(e.Leader) > limits.MostName || !utf8.ValidString(e.Leader):
		return fault(ErrMalformed, "a leader's name is a text of 1 to %d bytes", limits.MostName)
	}
	if e.Kind != Executed && (e.GoalID != "" || e.Goal != nil || e.Result != nil || e.Fault != "" || e.Diff != nil || e.Effects != nil) {
		return fault(ErrMalformed, "an entry of kind %s has a goal", e.Kind)
	}
	if e.Kind != Changed && e.Members != nil || e.Kind != Performed && e.Upto != (Key{}) {
		return fault(ErrMalformed, "an entry of kind %s has what another kind has", e.Kind)
	}
	switch e.Kind {
	case Executed:
		return e.checkGoal()
	case Changed:
		return CheckMembers(e.Members)
	case Performed:
		if e.Upto.Index == 0 || e.Upto.Index >= e.Index {
			return fault(ErrMalformed, "effects of entry %d are performed before entry %d", e.Upto.Index, e.Index)
		}
	case Opening, Scrubbed:
	}
	return nil
}

func (e *Entry) checkGoal() error {
	if err := (Goal{ID: e.GoalID, Body: e.Goal}).Check(); err != nil {
		return err
	}
	return e.outcome().Check()
}

// Goal is what a user wants the state machine to do, under an id of its own, on its way to the entry that says what became of it.
type Goal struct {
	ID    string
	Body  []byte
	Since uint64 // an index that was committed before the id was made
}

// Check returns the first fault of a goal. The error is ErrMalformed or ErrSize.
func (g Goal) Check() error {
	switch {
	case g.ID == "" || len(g.ID) > limits.MostGoalID || !utf8.ValidString(g.ID):
		return fault(ErrMalformed, "a goal's id is a text of 1 to %d bytes", limits.MostGoalID)
	case len(g.Body) > MostGoal:
		return fault(ErrSize, "a goal of %d bytes, of %d at most", len(g.Body), MostGoal)
	}
	return nil
}

func (e *Entry) outcome() Outcome {
	return Outcome{Result: e.Result, Fault: e.Fault, Diff: e.Diff, Effects: e.Effects}
}

// clean makes empty slices nil, so that an entry is equal to what its bytes say.
func (e *Entry) clean() {
	for _, b := range []*[]byte{&e.Goal, &e.Result, &e.Diff} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	if len(e.Effects) == 0 {
		e.Effects = nil
	}
	if len(e.Members) == 0 {
		e.Members = nil
	}
	e.Effects, e.Members = slices.Clone(e.Effects), slices.Clone(e.Members)
	for i := range e.Effects {
		if len(e.Effects[i].Body) == 0 {
			e.Effects[i].Body = nil
		}
	}
}
