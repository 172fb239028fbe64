package bulletin_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/patched"
	"github.com/conchhq/conch/cmd/conch/internal/lab/patched/patchedtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
)

// nightly reports whether there is time for many seeds.
func nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }

// few reports whether there is time for few worlds only.
func few() bool { return !nightly() && (bulletin.Raced || testing.Short()) }

// whole skips a test that takes long when there is little time.
func whole(t *testing.T) {
	t.Helper()
	if few() {
		t.Skip("the run without the race detector has time for it")
	}
}

// report fails the test for each violation, with the line that repeats the run.
func report(t *testing.T, r sim.Report) {
	t.Helper()
	for _, v := range r.Violations {
		t.Errorf("%s after step %d: %s\n\t%s", v.Invariant, v.Step, v.Detail, v.Replay)
	}
}

// B8 to B15, B18, B20, V1 to V8: logs of one to seven members under every fault, with messages lost and stalled.
func TestLogs(t *testing.T) {
	t.Parallel()
	seeds := uint64(8)
	if nightly() {
		seeds = map[bool]uint64{true: 200, false: 4000}[bulletin.Raced]
	} else if few() {
		seeds = 2
	}
	const groups = 2
	for group := range uint64(groups) {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for seed := group + 1; seed <= seeds && !t.Failed(); seed += groups {
				c := bulletin.Config{Seed: seed, Members: int([]uint64{5, 3, 5, 4, 7, 1, 5, 3}[seed%8]), Loss: []int{0, 5, 15}[seed%3], Stalls: seed%4 == 1}
				c.Nodes = c.Members + int(seed%4)
				report(t, bulletin.Run(c))
			}
		})
	}
}

// brief is for how long a scene has faults by day, 0 being all that it takes: each rule that is left out shows within that.
func brief(scene string) time.Duration {
	switch {
	case nightly() || slices.Contains(bulletin.OwnStories(), scene) || scene == "lost-majority":
		return 0
	case scene == "long-cut": // a goal's timeout is longer than others' troubles
		return 30 * time.Second
	}
	return 15 * time.Second
}

// Each world with one trouble.
func TestScenes(t *testing.T) {
	whole(t)
	t.Parallel()
	seeds := uint64(1)
	if nightly() {
		seeds = map[bool]uint64{true: 3, false: 100}[bulletin.Raced]
	}
	names, _ := bulletin.Scenes()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				report(t, bulletin.Run(bulletin.Config{Seed: seed + 1, Scene: name, Faults: brief(name)}))
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls, with two seeds at least, and with it such a world holds.
func TestEveryRuleIsNeeded(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, rule := range bulletin.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			c := bulletin.Config{Seed: bulletin.Shows(rule.Name), Break: rule.Name}.WithDefaults()
			c.Faults = brief(c.Scene)
			if patched.Out() == "" {
				kept := c
				kept.Break = ""
				report(t, bulletin.Run(kept.WithDefaults()))
			}
			if patchedtest.Elsewhere(t, rule.Name) {
				return
			}
			falls := 0
			for range 12 {
				r := bulletin.Run(c)
				c.Seed++
				if r.Has(rule.Invariant) {
					t.Logf("falls with seed %d: %s", r.Seed, r.Violations[0].Detail)
					if falls++; falls == 2 { // of one seed alone it could be chance, which the next change of the machines takes away
						return
					}
				}
			}
			t.Errorf("without %s %q fell in %d of 12 worlds, and %s", rule.Name, rule.Invariant, falls, rule.Why)
		})
	}
}

// Equal configurations give equal runs, and each report has all figures.
func TestRunsAreEqual(t *testing.T) {
	whole(t)
	t.Parallel()
	c := bulletin.Config{Seed: 3, Nodes: 6, Faults: 15 * time.Second, Loss: 5}
	one := bulletin.Run(c)
	if two := bulletin.Run(c); one.Trace != two.Trace || one.Steps != two.Steps {
		t.Errorf("one run of %d steps has the hash %s, the other of %d steps %s", one.Steps, one.Trace, two.Steps, two.Trace)
	}
	for _, figure := range []string{"acknowledged", "goals", "leaders", "entries", "effects", "messages", "snapshots", "quarantines"} {
		if _, is := one.Stats[figure]; !is {
			t.Errorf("the report lacks %s", figure)
		}
	}
}

// The line of a seed that has found something, each with what it found.
func TestSeedsThatFound(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, found := range []struct {
		what string
		bulletin.Config
	}{
		{"a leader that had stood still ended a goal which the next one executed", bulletin.Config{Scene: "paused", Clients: 8, Seed: 9}},
		{"a member was stored as committed, and its answer came before its copy had the entry", bulletin.Config{Scene: "flipped-leader", Seed: 5}},
		{"a member was taken away while it was cut off, and never heard of it", bulletin.Config{Seed: 2}},
		{"a node with a new store decided at every message to its old one, and never followed", bulletin.Config{Nodes: 7, Members: 5, Loss: 5, Seed: 1515}},
		{"the one member of a log started again while another one took its place, and nobody decided", bulletin.Config{Nodes: 3, Members: 1, Loss: 15, Seed: 20010}},
		{"what was executed behind a change of members was committed by those of before, and nobody could sign a head of it", bulletin.Config{Scene: "joint", Seed: 2}},
		{"a leader that had left had more in its log than who took its place, and did not vote for it", bulletin.Config{Scene: "joint-one", Seed: 30}},
		{"a store with an entry that nobody takes won every election", bulletin.Config{Nodes: 7, Members: 5, Seed: 130}},
	} {
		t.Run(found.what, func(t *testing.T) {
			t.Parallel()
			report(t, bulletin.Run(found.Config))
		})
	}
}
