package crowd_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/conchhq/conch/internal/sim"
	"github.com/conchhq/conch/internal/sim/crowd"
)

// nightly reports whether there is time for many seeds and large crowds.
func nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }

// few reports whether there is time for few worlds only.
func few() bool { return !nightly() && (raced || testing.Short()) }

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

// B3, B4, B18, B19: crowds of 2 to 40 nodes under every fault, with electors and without, with messages lost and stalled.
func TestCrowds(t *testing.T) {
	t.Parallel()
	seeds := uint64(16)
	if nightly() {
		seeds = 4000
	} else if few() {
		seeds = 2
	}
	const groups = 4
	for group := range uint64(groups) {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for seed := group + 1; seed <= seeds && !t.Failed(); seed += groups {
				c := crowd.Config{Seed: seed, Nodes: int(2 + seed*7%39), Loss: []int{0, 5, 20}[seed%3], Stalls: seed%4 == 1, Rounds: 200}
				if seed%2 == 0 {
					c.Electors = int(min(3+seed%5, uint64(c.Nodes)))
				}
				report(t, crowd.Run(c))
			}
		})
	}
}

// Each world with one trouble.
func TestScenes(t *testing.T) {
	whole(t)
	t.Parallel()
	names, _ := crowd.Scenes()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := uint64(1)
			if nightly() {
				seeds = 40
			}
			c := crowd.Config{Scene: name}
			if c.WithDefaults().Nodes == 50 && !nightly() {
				c.Nodes = 25
			}
			for seed := range seeds {
				c.Seed = seed + 1
				report(t, crowd.Run(c))
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls (D13, B7).
func TestEveryRuleIsNeeded(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, rule := range crowd.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(8) {
				r := crowd.Run(crowd.Config{Seed: crowd.Shows(rule.Name) + seed, Break: rule.Name})
				if r.Has(rule.Invariant) {
					t.Logf("falls with seed %d: %s", r.Seed, r.Violations[0].Detail)
					return
				}
			}
			t.Errorf("without %s nothing broke %q, and %s", rule.Name, rule.Invariant, rule.Why)
		})
	}
}

// The figures: a cold start takes 7 rounds, a new leader 2 × diameter + 4, whether one dies or the first four, with 0 to
// 20 % of the messages lost; and no reign is needless. Large crowds are for the night.
func TestFigures(t *testing.T) {
	t.Parallel()
	sizes, seeds := []int{5, 50}, uint64(1)
	if nightly() {
		sizes, seeds = []int{5, 50, 500, 5000}, 3
	} else if few() {
		sizes, seeds = []int{5}, 1
	}
	for _, n := range sizes {
		for _, loss := range []int{0, 5, 20} {
			for _, electors := range []int{0, min(n, 7)} {
				t.Run(fmt.Sprint(n, " nodes, ", electors, " electors, ", loss, " %"), func(t *testing.T) {
					t.Parallel()
					for seed := range seeds {
						c := crowd.Config{Nodes: n, Electors: electors, Loss: loss, Seed: seed + 1}
						within(t, c, "cold", 7)
						within(t, c, "crash", 2*4+4)
						if n > 5 {
							c.Electors = min(electors, 1) * 9 // four die, and a majority is left
							within(t, c, "crash-four", 2*4+4)
						}
					}
				})
			}
		}
	}
}

// within wants the longest way to agreement in a scene to take so many rounds.
func within(t *testing.T, c crowd.Config, scene string, rounds int64) {
	t.Helper()
	c.Scene = scene
	r := crowd.Run(c)
	report(t, r)
	if took := r.Stats["agreement_tenths_max"]; took > 10*rounds || r.Stats["agreements"] == 0 {
		t.Errorf("%s with seed %d: all agree after %d.%d rounds, want %d", scene, c.Seed, took/10, took%10, rounds)
	}
	if r.Stats["needless_reigns"] > 0 {
		t.Errorf("%s with seed %d: %d needless reigns", scene, c.Seed, r.Stats["needless_reigns"])
	}
}

// Each report has all figures, whatever the scene.
func TestReportsAreWhole(t *testing.T) {
	whole(t)
	t.Parallel()
	names, _ := crowd.Scenes()
	for _, name := range append(names, "") {
		r := crowd.Run(crowd.Config{Seed: 1, Scene: name, Nodes: 8, Rounds: 20})
		for _, figure := range []string{
			"agreements", "agreement_tenths", "agreement_tenths_max", "needless_reigns", "reigns", "without_leader_tenths", "two_leaders_tenths",
			"messages", "bytes", "bytes_per_node_round_max", "overlay_bytes", "arcs_hundredths_max", "neighbours_tenths_max", "neighbours_max",
		} {
			if _, is := r.Stats[figure]; !is {
				t.Errorf("the report of %q lacks %s", name, figure)
			}
		}
	}
}

// The overlay on which a crowd begins is one that has grown: views have H_n − ½ arcs on average, or a little more, since
// all join by the oldest nodes (B23).
func TestTheOverlayHasGrown(t *testing.T) {
	t.Parallel()
	for n, seeds := range map[int]uint64{5: 20, 50: 6} {
		if n > 5 && few() {
			continue
		}
		sum := int64(0)
		for seed := range seeds {
			sum += crowd.Run(crowd.Config{Seed: seed + 1, Nodes: n, Scene: "cold", Rounds: 20}).Stats["arcs_hundredths_max"]
		}
		want := -0.5
		for i := range n {
			want += 1 / float64(i+1)
		}
		if got := float64(sum) / float64(seeds) / 100; math.Abs(got-want) > 1 {
			t.Errorf("views of %d nodes have %.2f arcs on average, want %.2f", n, got, want)
		}
	}
}

// Equal configurations give equal runs.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	c := crowd.Config{Seed: 3, Nodes: 20, Rounds: 120, Loss: 5}
	if few() {
		c.Nodes = 8
	}
	one := crowd.Run(c)
	if two := crowd.Run(c); one.Trace != two.Trace || one.Steps != two.Steps {
		t.Errorf("one run of %d steps has the hash %s, the other of %d steps %s", one.Steps, one.Trace, two.Steps, two.Trace)
	}
}
