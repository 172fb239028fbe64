package crowd_test

import (
	"testing"

	"github.com/conchhq/conch/gossip/internal/crowd"
	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// B16 to B19: the tests that document 003 asks for, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, crowd.Simulator())
}

// A story falls where a rule is broken: everybody believes in the dead leader, whose heartbeats another one makes.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, crowd.Simulator(), "forged-leader", "own-signature", story.Expected)
}
