package sim_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// Stories of elections, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, sim.Simulator())
}

// A story falls where a rule is broken, and says where: a frozen leader that does not compare its deadline goes on beside its
// successor, and so does one whose clock does not count suspended time.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, sim.Simulator(), "frozen-leader", "compare-at-use", sim.ActDoors)
	worldtest.Falls(t, sim.Simulator(), "suspended-clock", "boottime", sim.ActDoors)
	worldtest.Falls(t, sim.Simulator(), "drain", "shut-before-release", sim.ReleasedHonest)
}
