package crowd_test

import (
	"testing"

	"github.com/conchhq/conch/internal/sim/crowd"
	"github.com/conchhq/conch/internal/sim/page"
)

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	page.Compare(t, *update, "../../../docs/gossip-figures.md", "./internal/sim/crowd", page.Rules(crowd.Rules()), page.Scenes(crowd.Scenes()))
}
