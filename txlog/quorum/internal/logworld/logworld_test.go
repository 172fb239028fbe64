package logworld_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/txlog/quorum/internal/logworld"
)

// B8 to B15, B18, B20, V1 to V8: logs of one to seven members under every fault, with messages lost and stalled.
func TestLogs(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 2, worldtest.Enough[uint64](2, 8, map[bool]uint64{true: 200, false: 4000}[worldtest.Raced]), func(seed uint64) world.Report {
		c := logworld.Config{Seed: seed, Members: int([]uint64{5, 3, 5, 4, 7, 1, 5, 3}[seed%8]), Loss: []int{0, 5, 15}[seed%3], Stalls: seed%4 == 1}
		c.Nodes = c.Members + int(seed%4)
		return logworld.Run(c)
	})
}

// brief is for how long a scene has faults by day, 0 being all that it takes: each rule that is left out shows within that.
func brief(scene string) time.Duration {
	switch {
	case worldtest.Nightly() || logworld.Simulator().Scene(scene).Story || scene == "lost-majority":
		return 0
	case scene == "long-cut": // a goal's timeout is longer than others' troubles
		return 30 * time.Second
	}
	return 15 * time.Second
}

// Each world with one trouble.
func TestScenes(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	for _, scene := range logworld.Simulator().Scenes {
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range worldtest.Enough(1, 1, map[bool]uint64{true: 3, false: 100}[worldtest.Raced]) {
				worldtest.Clean(t, logworld.Run(logworld.Config{Seed: seed + 1, Scene: scene.Name, Faults: brief(scene.Name)}))
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls, with two seeds at least, and with it such a world holds.
func TestEveryRuleIsNeeded(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	worldtest.Rules(t, logworld.Simulator(), 2, 12, func(_ string, c *logworld.Config) { c.Faults = cmp.Or(brief(c.Scene), c.Faults) })
}

// Equal configurations give equal runs, and each report has all figures.
func TestRunsAreEqual(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	c := logworld.Config{Seed: 3, Nodes: 6, Faults: 15 * time.Second, Loss: 5}
	one := worldtest.Equal(t, func() world.Report { return logworld.Run(c) })
	for _, figure := range []string{"acknowledged", "goals", "leaders", "entries", "effects", "messages", "snapshots", "quarantines"} {
		if _, is := one.Stats[figure]; !is {
			t.Errorf("the report lacks %s", figure)
		}
	}
}

// The line of a seed that has found something, each with what it found.
func TestSeedsThatFound(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	for _, found := range []struct {
		what string
		logworld.Config
	}{
		{"a leader that had stood still ended a goal which the next one executed", logworld.Config{Scene: "paused", Clients: 8, Seed: 9}},
		{"a member was stored as committed, and its answer came before its copy had the entry", logworld.Config{Scene: "flipped-leader", Seed: 5}},
		{"a member was taken away while it was cut off, and never heard of it", logworld.Config{Seed: 2}},
		{"a node with a new store decided at every message to its old one, and never followed", logworld.Config{Nodes: 7, Members: 5, Loss: 5, Seed: 1515}},
		{"the one member of a log started again while another one took its place, and nobody decided", logworld.Config{Nodes: 3, Members: 1, Loss: 15, Seed: 20010}},
		{"what was executed behind a change of members was committed by those of before, and nobody could sign a head of it", logworld.Config{Scene: "joint", Seed: 2}},
		{"a leader that had left had more in its log than who took its place, and did not vote for it", logworld.Config{Scene: "joint-one", Seed: 30}},
		{"a store with an entry that nobody takes won every election", logworld.Config{Nodes: 7, Members: 5, Seed: 130}},
	} {
		t.Run(found.what, func(t *testing.T) {
			t.Parallel()
			worldtest.Clean(t, logworld.Run(found.Config))
		})
	}
}
