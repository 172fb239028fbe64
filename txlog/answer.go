package txlog

import (
	"errors"
	"fmt"
	"strings"
)

// Answer is what became of a goal. The entry that says it is committed.
type Answer struct {
	Index  uint64
	Hash   Hash // of the entry; zero if only the goal's result is in memory here: then the entry is to be read at its index
	Result []byte
	Fault  string // why the goal has failed; empty: it has not. See FaultError
}

// FaultError is why a goal has failed, as an error. It is an ErrBudget if the goal has taken more steps than it may: no state machine can say
// that of its own goals (Run).
type FaultError string

// overspent begins the fault of a goal that has taken more steps than it may.
var overspent = ErrBudget.Error() + ": the goal takes more than "

// Error says why.
func (e FaultError) Error() string { return string(e) }

// Is reports whether the target is ErrBudget, and the goal has taken too many steps.
func (e FaultError) Is(target error) bool {
	return target == ErrBudget && strings.HasPrefix(string(e), overspent)
}

// Why a member gives no answer. Beside these there are ErrGoalID and ErrOld, and ErrMalformed and ErrSize for a goal that
// nobody takes. None of them says that a goal has failed: that is an Answer with a Fault.
var (
	// ErrNotLeader means that another member leads, or nobody that is known. A NotLeaderError says who.
	ErrNotLeader = errors.New("this member does not lead")
	// ErrBarred means that the leader does not do what this node asks for, since it was not told of it. That leader has done nothing.
	ErrBarred = errors.New("the leader does what nodes ask for that it was told of, and this node is none of them: it has done nothing")
	// ErrTooMany means that as many goals wait as there is room for. The goal was not taken.
	ErrTooMany = errors.New("too many goals wait here: ask again a little later, with the same id")
	// ErrUnknown means that nobody can say yet whether a goal was executed. Asked again with the same id, it is executed
	// once, whatever has become of it before.
	ErrUnknown = errors.New("nobody can say yet what became of the goal: ask again, with the same id")
)

// NotLeaderError says who leads instead. It is an ErrNotLeader.
type NotLeaderError struct {
	Leader string // empty: nobody is known
	Term   uint64 // the newest one that is known
}

// Error names the leader.
func (e NotLeaderError) Error() string {
	if e.Leader == "" {
		return fmt.Sprintf("%v, and in term %d it knows of nobody that does", ErrNotLeader, e.Term)
	}
	return fmt.Sprintf("%v: %s does, in term %d", ErrNotLeader, e.Leader, e.Term)
}

// Is reports that it is an ErrNotLeader.
func (NotLeaderError) Is(target error) bool { return target == ErrNotLeader }
