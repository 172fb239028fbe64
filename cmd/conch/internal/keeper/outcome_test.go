//go:build unix

package keeper

import "testing"

func TestCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  Outcome
		want int
	}{
		"its own":                {Outcome{Exit: &Report{Code: 6}}, 6},
		"a signal":               {Outcome{Exit: &Report{Signal: 15, Cause: Ended}}, 143},
		"killed with its keeper": {Outcome{KeeperDied: true}, 137},
		"never begun":            {Outcome{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.out.Code(); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
