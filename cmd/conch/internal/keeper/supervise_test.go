//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	gone := func(cause Cause, code, signal int) *Outcome {
		return &Outcome{Exit: &Report{Cause: cause, Code: code, Signal: signal}}
	}
	type row struct {
		name            string
		out             *Outcome
		ending, restart bool
		want            string // again, resigned, or final with the exit code; the role's error; the history of a final end
	}
	for _, c := range []row{
		{"exits well", gone(Itself, 0, 0), false, false, "final 0, role: <nil>, history: the command ended with code 0"},
		{"exits badly", gone(Itself, 3, 0), false, false, "final 3, role: the command ended with code 3, history: the command ended with code 3"},
		{"dies of a signal", gone(Itself, 0, 15), false, false, "final 143, role: the command was ended by signal 15, history: the command was ended by signal 15"},
		{"exits, and is to go on", gone(Itself, 3, 0), false, true, "again, role: <nil>"},
		{"exits while conch ends", gone(Itself, 3, 0), true, true, "final 3, role: <nil>, history: <nil>"},
		{"ended with the leadership", gone(Ended, 0, 15), false, true, "resigned, role: <nil>"},
		{"ended while conch ends", gone(Ended, 0, 15), true, false, "final 143, role: <nil>, history: <nil>"},
		{"killed in haste", gone(Killed, 0, 9), false, true, "final 137, role: the command was ended by signal 9, history: the command was ended by signal 9"},
		{"late", gone(Late, 0, 9), false, true, "resigned, role: " + ErrLate.Error()},
		{"late while conch ends", gone(Late, 0, 9), true, false, "final 137, role: <nil>, history: <nil>"},
		{"its keeper was killed", &Outcome{KeeperDied: true}, false, true, "resigned, role: " + ErrKeeperDied.Error()},
		{"its keeper was killed while conch ends", &Outcome{KeeperDied: true}, true, false, "final 137, role: <nil>, history: <nil>"},
		{"never begun", &Outcome{}, false, true, "resigned, role: <nil>"},
		{"never begun while conch ends", &Outcome{}, true, false, "final 0, role: <nil>, history: <nil>"},
		{
			"cannot be started", &Outcome{Unstarted: errors.New("no such file")}, false, true,
			"final 0 for no such file, role: the command cannot be started: no such file, history: the command cannot be started: no such file",
		},
	} {
		v := judge(c.out, c.ending, c.restart)
		got := "resigned"
		switch {
		case v.Again:
			got = "again"
		case v.Final:
			got = fmt.Sprintf("final %d", v.Code)
		}
		if v.Unstarted != nil {
			got += fmt.Sprintf(" for %v", v.Unstarted)
		}
		got += fmt.Sprintf(", role: %v", v.Err)
		if v.Final {
			got += fmt.Sprintf(", history: %v", v.Why)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
