package txlog

import (
	"errors"
	"fmt"
)

var (
	// ErrChain means that a record does not follow what is here: another log, an index or a term out of order, or another
	// record before it.
	ErrChain = errors.New("the entry does not follow the one before")
	// ErrDiff means that a diff does not fit the state: what it says was there before is not what is there.
	ErrDiff = errors.New("the diff does not fit the state")
	// ErrState means that the state after an entry is another one than the entry says. One of the two memories is wrong.
	ErrState = errors.New("the state after the entry is not the one that it says")
	// ErrSpoiled means that a copy has failed while it applied an entry, and must be made anew from the store.
	ErrSpoiled = errors.New("the copy is spoiled")
	// ErrMalformed means that bytes are no entry, genesis, head or snapshot.
	ErrMalformed = errors.New("malformed")
	// ErrSize means that something is larger than its limit.
	ErrSize = errors.New("too large")
	// ErrVersion means that the bytes are of a newer conch.
	ErrVersion = errors.New("written by a newer version of conch")
	// ErrBudget means that a goal or a query takes more steps than it may. A goal fails then: see FaultError.
	ErrBudget = errors.New("too many steps")
	// ErrGoalID means that a goal has the id of another one.
	ErrGoalID = errors.New("another goal has this id")
	// ErrOld means that the results of the time in which a goal's id was made are forgotten: nobody can say whether it was
	// executed.
	ErrOld = errors.New("the goal's id is older than the results that are kept")
	// ErrMembers means that a log cannot have these members.
	ErrMembers = errors.New("a log cannot have these members")
	// ErrAway means that a node that is to be a member cannot take part now. Nothing has changed.
	ErrAway = errors.New("the members stay as they are")
	// ErrChanging means that another change of members is under way. It can be asked for again when that one is committed.
	ErrChanging = errors.New("another change of members is under way: ask again when it is committed")
	// ErrChanged means that the members are others than those that the asker of a change has seen. Nothing is done: the change might
	// undo what its asker does not know of.
	ErrChanged = errors.New("the members have changed meanwhile")
	// ErrSignature means that a head is not signed by the member that it names.
	ErrSignature = errors.New("the signature is not the member's")
	// ErrStranger means that a head names a member that is none, as far as is known here.
	ErrStranger = errors.New("it is signed by no member")
)

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
