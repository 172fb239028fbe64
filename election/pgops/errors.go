package pgops

import (
	"errors"
	"fmt"
	"strings"

	"github.com/conchhq/conch/election"
)

// ErrNobodyLeads answers a request for a scope without a leader.
var ErrNobodyLeads = errors.New("nobody leads the scope")

// CandidateError says that a scope cannot be transferred to To, which leads it already or is
// no candidate. The leader was not asked.
type CandidateError struct {
	Scope, To, Holder string
	Candidates        []string
}

func (e *CandidateError) Error() string {
	if e.Holder == e.To {
		return fmt.Sprintf("%s leads %q already", e.To, e.Scope)
	}
	return fmt.Sprintf("%s is no candidate of %q now; these are: %s", e.To, e.Scope, strings.Join(e.Candidates, ", "))
}

// UnansweredError says that the leader did not take a request in time, or took it and did
// not finish in time.
type UnansweredError struct {
	Scope, Holder string
	Taken         bool // the leader took it, and may still finish
}

func (e *UnansweredError) Error() string {
	if e.Taken {
		return fmt.Sprintf("%s took the request for %q and has not finished it in time: the history of the scope will tell how it ended", e.Holder, e.Scope)
	}
	return fmt.Sprintf("%s, which leads %q, did not take the request, and it was withdrawn: is it a conch process, and does it reach the database?", e.Holder, e.Scope)
}

// FailedError says how a request failed that the leader took, or why it was closed without
// being taken, for example because its term was over.
type FailedError struct {
	Scope, Holder, Result string
}

func (e *FailedError) Error() string {
	if e.Result == timedOut {
		return fmt.Sprintf("%s: %q was %s", e.Holder, e.Scope, e.Result)
	}
	return fmt.Sprintf("%s did not hand %q over: %s", e.Holder, e.Scope, e.Result)
}

// Unwrap returns election.ErrDrainTimeout if acts had not ended in time.
func (e *FailedError) Unwrap() error {
	if e.Result == timedOut {
		return election.ErrDrainTimeout
	}
	return nil
}

// EpochError says that a request was for another term than the present one: nothing was given up.
type EpochError struct {
	Scope  string
	Epoch  int64  // of the present term
	Asked  int64  // of the one that was meant
	Holder string // who leads now
}

func (e *EpochError) Error() string {
	return fmt.Sprintf("pgops: %q is led with epoch %d by %s, and the request was for epoch %d", e.Scope, e.Epoch, e.Holder, e.Asked)
}
