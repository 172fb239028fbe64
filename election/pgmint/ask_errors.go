package pgmint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/conchhq/conch/election"
)

// ErrNobodyLeads answers a request for a scope without a leader.
var ErrNobodyLeads = errors.New("nobody leads the scope")

// CandidateError says that a scope cannot be handed to whom it was meant for.
// Nothing was asked of its leader.
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

// UnansweredError says that a leader did not take or not finish a request in time.
type UnansweredError struct {
	Scope, Holder string
	Taken         bool
}

func (e *UnansweredError) Error() string {
	if e.Taken {
		return fmt.Sprintf("%s took the request for %q and has not finished it in time: look at `conch history --scope %s`", e.Holder, e.Scope, e.Scope)
	}
	return fmt.Sprintf("%s, which leads %q, did not take the request, and it was withdrawn: is it a conch process, and does it reach the database?", e.Holder, e.Scope)
}

// FailedError says what became of a request that a leader took, or why it was closed
// instead: the leadership that it was meant for was over.
type FailedError struct {
	Scope, Holder, Result string
}

func (e *FailedError) Error() string {
	if e.Result == timedOut {
		return fmt.Sprintf("%s: %q was %s", e.Holder, e.Scope, e.Result)
	}
	return fmt.Sprintf("%s did not hand %q over: %s", e.Holder, e.Scope, e.Result)
}

// Unwrap gives election.ErrDrainTimeout where that is what happened.
func (e *FailedError) Unwrap() error {
	if e.Result == timedOut {
		return election.ErrDrainTimeout
	}
	return nil
}
