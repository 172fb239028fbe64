package crowd_test

import (
	"flag"
	"io"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/crowd"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story/toldtest"
)

var update = flag.Bool("update", false, "write the stories and the page anew")

// without tells a story in a crowd without a rule.
func without(rule string) toldtest.Tell {
	return func(text story.Text, out io.Writer) sim.Report {
		return crowd.Tell(crowd.Config{Break: rule}, text, out)
	}
}

// B16 to B19: the tests that document 003 asks for, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	toldtest.Run(t, *update, without(""))
}

// A story falls where a rule is broken: everybody believes in the dead leader, whose heartbeats another one makes.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	toldtest.Falls(t, "forged-leader", story.Expected, without("own-signature"))
}
