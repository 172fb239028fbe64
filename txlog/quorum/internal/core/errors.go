package core

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

var (
	// ErrManyReads means that the leader had no room for a read.
	ErrManyReads = errors.New("as many reads wait at the leader as there is room for: ask again a little later, or take what this node has (as_of)")
	// ErrLags means that this node's copy has not come in time to where the leader has said that a read must have come.
	ErrLags = errors.New("the leader confirms the read, and this node's copy has not come as far yet: ask again, or take what this node has (as_of)")
)

// Why a store is not admitted.
var (
	// errTwin means that a store asks to be admitted in the place of one that is heard: two processes have one node's name and key.
	errTwin = errors.New("two processes run with its name and key")
	// errKey means that a member's node asks to be admitted with another key than the one by which the log knows it.
	errKey = errors.New("the log knows this member by another key")
)

// errBlank is the answer of a node that has not fetched the state with which the log begins.
var errBlank = fmt.Errorf("this node has no state of the log yet: %w", txlog.ErrUnknown)

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
