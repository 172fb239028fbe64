package belfry_test

import (
	"testing"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/schedule/internal/belfry"
)

// F11, F12: crons under every fault.
func TestBelfries(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 4, worldtest.Enough[uint64](30, 200, 3000), func(seed uint64) world.Report { return belfry.Run(belfry.Config{Seed: seed}) })
}

// The same seed is the same run, and much happens in it.
func TestRunsRepeat(t *testing.T) {
	t.Parallel()
	r := worldtest.Equal(t, func() world.Report { return belfry.Run(belfry.Config{Seed: 5}) })
	for _, figure := range []string{"rows", "leaders", "revisions", "refused", "clock_back", "attempts", "done", "lost", "over", "cancelled"} {
		if r.Stats[figure] == 0 {
			t.Errorf("there are no %s: %v", figure, r.Stats)
		}
	}
}

// What happens is told. With -update the stories are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, belfry.Simulator())
}

// For each rule: without it the invariant that it is for falls, and with it none does in the same world.
func TestEveryRuleIsNeeded(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	worldtest.Rules(t, belfry.Simulator(), 1, 20, func(string, *belfry.Config) {})
}
