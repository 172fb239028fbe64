//go:build unix

package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	gone := func(cause keeper.Cause, code, signal int) *keeper.Outcome {
		return &keeper.Outcome{Gone: &keeper.Report{Cause: cause, Code: code, Signal: signal}}
	}
	type row struct {
		name              string
		out               *keeper.Outcome
		stopping, restart bool
		want              string // again, the role's error, over, the exit code, the history
	}
	for _, c := range []row{
		{"exits well", gone(keeper.Itself, 0, 0), false, false, "over 0: the command ended with code 0"},
		{"exits badly", gone(keeper.Itself, 3, 0), false, false, "over 3: the command ended with code 3"},
		{"dies of a signal", gone(keeper.Itself, 0, 15), false, false, "over 143: the command was ended by signal 15"},
		{"exits, and is to go on", gone(keeper.Itself, 3, 0), false, true, "again"},
		{"exits while conch ends", gone(keeper.Itself, 3, 0), true, true, "over 3"},
		{"ended with the leadership", gone(keeper.Ended, 0, 15), false, true, "campaigns"},
		{"ended while conch ends", gone(keeper.Ended, 0, 15), true, false, "over 143"},
		{"late", gone(keeper.Late, 0, 9), false, true, "campaigns: " + keeper.ErrLate.Error()},
		{"late while conch ends", gone(keeper.Late, 0, 9), true, false, "over 137"},
		{"its keeper was killed", &keeper.Outcome{Abandoned: true}, false, true, "campaigns: " + keeper.ErrAbandoned.Error()},
		{"its keeper was killed while conch ends", &keeper.Outcome{Abandoned: true}, true, false, "over 137"},
		{"never begun", &keeper.Outcome{}, false, true, "campaigns"},
		{"never begun while conch ends", &keeper.Outcome{}, true, false, "over 0"},
		{"cannot be started", &keeper.Outcome{Unstarted: errors.New("no such file")}, false, true, "usage no such file: the command cannot be started: no such file"},
	} {
		v := judge(c.out, c.stopping, c.restart)
		got := "campaigns"
		_, wrong := errors.AsType[usage](v.outcome)
		code, exits := errors.AsType[exitError](v.outcome)
		switch {
		case v.again:
			got = "again"
		case wrong:
			got = fmt.Sprintf("usage %v", v.outcome)
		case exits:
			got = fmt.Sprintf("over %d", int(code))
		}
		switch {
		case v.over != (wrong || exits):
			got += " and over is " + fmt.Sprint(v.over)
		case v.over && v.why != nil:
			got += ": " + v.why.Error()
		case !v.over && v.err != nil:
			got += ": " + v.err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
