package kv

import (
	"fmt"
	"strconv"

	"github.com/conchhq/conch/txlog"
)

// fault is why a goal has failed: its kind comes first, so that a program can tell.
type fault struct{ kind, text string }

func (f fault) Error() string { return f.kind + ": " + f.text }

// The kinds of faults.
const (
	badGoal  = "bad goal"
	conflict = "conflict"
	tooMuch  = "limit"
)

func bad(text string) error   { return fault{badGoal, text} }
func limit(text string) error { return fault{tooMuch, text} }

// at says in which operation of a list something is wrong.
func at(err error, i int, alone bool) error {
	f, is := err.(fault) //nolint:errorlint // it was never wrapped
	if !is || alone {
		return err
	}
	return fault{f.kind, "operation " + strconv.Itoa(i+1) + ": " + f.text}
}

func malformed(text string) error { return fmt.Errorf("%w: %s", txlog.ErrMalformed, text) }
