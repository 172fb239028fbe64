package host

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// errAgain is told to those that wait when the machines are made anew.
var errAgain = fmt.Errorf("this node has made its copies anew: %w", txlog.ErrUnknown)

// ErrTwin means that a store asks to be admitted in the place of one that is heard: two processes have one node's name and key.
var ErrTwin = errors.New("two processes run with its name and key")

// ErrKey means that a member's node asks to be admitted with another key than the one by which the log knows it.
var ErrKey = errors.New("the log knows this member by another key")

// errBlank is the answer of a node that has not fetched the state with which the log begins.
var errBlank = fmt.Errorf("this node has no state of the log yet: %w", txlog.ErrUnknown)

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
