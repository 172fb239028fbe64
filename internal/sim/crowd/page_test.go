package crowd_test

import (
	"testing"

	"github.com/conchhq/conch/internal/sim/crowd"
	"github.com/conchhq/conch/internal/sim/pagetest"
)

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	pagetest.Compare(t, *update, "../../../docs/gossip-figures.md", "./internal/sim/crowd", pagetest.Rules(crowd.Rules()), pagetest.Scenes(crowd.Scenes()))
}
