package crowd_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/crowd"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/pagetest"
)

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	pagetest.Compare(t, *update, "../../../../../../docs/gossip-figures.md", "./cmd/conch/internal/lab/sim/crowd", pagetest.Rules(crowd.Rules()), pagetest.Scenes(crowd.Scenes()))
}
