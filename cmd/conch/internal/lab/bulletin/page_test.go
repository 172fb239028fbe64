package bulletin_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/pagetest"
)

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	pagetest.Compare(t, *update, "../../../../../docs/log.md", "./cmd/conch/internal/lab/bulletin", pagetest.Rules(bulletin.Rules()), pagetest.Scenes(bulletin.Scenes()))
}
