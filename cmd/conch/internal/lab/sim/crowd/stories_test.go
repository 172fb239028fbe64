package crowd_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/crowd"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/world/worldtest"
)

// B16 to B19: the tests that document 003 asks for, told. Times are in rounds of 100 ms.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Stories(t, crowd.Simulator())
}

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	worldtest.Page(t, "../../../../../../docs/gossip-figures.md", "./cmd/conch/internal/lab/sim/crowd", worldtest.ScenesAndRules(crowd.Simulator())...)
}
