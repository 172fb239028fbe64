package electorate_test

import (
	"testing"

	"github.com/conchhq/conch/election/internal/electorate"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// Stories of elections, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, electorate.Simulator())
}

// A story falls where a rule is broken, and says where: a frozen leader that does not compare its deadline goes on beside its
// successor, and so does one whose clock does not count suspended time.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, electorate.Simulator(), "frozen-leader", "compare-at-use", electorate.ActDoors)
	worldtest.Falls(t, electorate.Simulator(), "suspended-clock", "boottime", electorate.ActDoors)
	worldtest.Falls(t, electorate.Simulator(), "drain", "shut-before-release", electorate.ReleasedHonest)
}
