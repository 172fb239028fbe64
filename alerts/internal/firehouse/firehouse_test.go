package firehouse_test

import (
	"testing"

	"github.com/conchhq/conch/alerts/internal/firehouse"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// F9: alerts under every fault.
func TestFirehouses(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 4, worldtest.Enough[uint64](60, 500, 3000), func(seed uint64) world.Report { return firehouse.Run(firehouse.Config{Seed: seed}) })
}

// The same seed is the same run, and much happens in it.
func TestRunsRepeat(t *testing.T) {
	t.Parallel()
	r := worldtest.Equal(t, func() world.Report { return firehouse.Run(firehouse.Config{Seed: 1, Hours: 12}) })
	for _, figure := range []string{"leaders", "messages", "incidents", "texts", "twice", "silences", "cries", "refused", "given_up", "long_cuts"} {
		if r.Stats[figure] == 0 {
			t.Errorf("there are no %s: %v", figure, r.Stats)
		}
	}
}

// What happens is told. With -update the stories are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, firehouse.Simulator())
}

// For each rule: without it the invariant that it is for falls, and with it none does in the same world.
func TestEveryRuleIsNeeded(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	worldtest.Rules(t, firehouse.Simulator(), 1, 20, func(string, *firehouse.Config) {})
}
