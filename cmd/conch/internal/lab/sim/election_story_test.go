package sim_test

import (
	"io"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story/toldtest"
)

// leaving tells a story of an election without a rule.
func leaving(rule string) toldtest.Tell {
	return func(text story.Text, out io.Writer) sim.Report {
		return sim.Tell(sim.Config{Break: rule}, text, out)
	}
}

// Stories of elections, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	toldtest.Run(t, *update, leaving(""))
}

// A story falls where a rule is broken, and says where: a frozen leader that does not compare its deadline goes on beside its
// successor; one whose clock does not count suspended time does.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{"frozen-leader": "compare-at-use", "suspended-clock": "boottime", "drain": "shut-before-release"} {
		invariant := map[string]string{"shut-before-release": sim.ReleasedHonest}[rule]
		if invariant == "" {
			invariant = sim.ActDoors
		}
		told := toldtest.Falls(t, name, invariant, leaving(rule))
		if !strings.Contains(told, "violated") {
			t.Errorf("%s does not say what is violated:\n%s", name, told)
		}
	}
}
