//go:build unix

package schedule

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/schedule"
)

// A command that was asked to end before it began has the code 0 and has done nothing: its job is tried again, and never told as done.
func TestACommandThatHasNotBegunIsNotDone(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such file")
	for name, c := range map[string]struct {
		outcome keeper.Outcome
		want    error
	}{
		"never begun":    {keeper.Outcome{}, schedule.ErrLater},
		"not to be run":  {keeper.Outcome{Unstarted: broken}, broken},
		"done":           {keeper.Outcome{Exit: &keeper.Report{}}, nil},
		"keeper is dead": {keeper.Outcome{KeeperDied: true}, nil}, // its code says so
	} {
		if err := unbegun(&c.outcome); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
