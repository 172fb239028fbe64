package logworld_test

import (
	"testing"

	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/txlog/quorum/internal/logworld"
)

// B10 to B13, B15, B18, B20, V1, V3 to V7, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, logworld.Simulator())
}

// B14, B15, V2, V8: what a text cannot say, told.
func TestOwnStories(t *testing.T) {
	t.Parallel()
	worldtest.Stories(t, logworld.Simulator())
}

// A story falls where a rule is broken: the new leader acts while the one that is cut off may still.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, logworld.Simulator(), "partition", "hold", logworld.OneDoor)
}
