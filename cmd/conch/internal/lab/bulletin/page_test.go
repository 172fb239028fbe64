package bulletin_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/internal/sim/page"
)

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	page.Compare(t, *update, "../../../../../docs/log.md", "./cmd/conch/internal/lab/bulletin", page.Rules(bulletin.Rules()), page.Scenes(bulletin.Scenes()))
}
