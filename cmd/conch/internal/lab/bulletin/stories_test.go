package bulletin_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/world/worldtest"
)

// B10 to B15, B18, B20, V1 to V8, told.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Stories(t, bulletin.Simulator())
}

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	worldtest.Page(t, "../../../../../docs/log.md", "./cmd/conch/internal/lab/bulletin", worldtest.ScenesAndRules(bulletin.Simulator())...)
}
