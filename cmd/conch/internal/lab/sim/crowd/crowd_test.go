package crowd_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/crowd"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched/patchedtest"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// B3, B4, B18, B19: crowds of 2 to 20 nodes, at night of 40, under every fault, with electors and without, each with messages lost and stalled.
func TestCrowds(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 4, worldtest.Enough[uint64](3, 10, 4000), func(seed uint64) world.Report { return crowd.Run(mixed(seed)) })
}

// mixed is a world with every fault: of ten in a row each has another mixture of losses and electors.
func mixed(seed uint64) crowd.Config {
	most := worldtest.Enough[uint64](19, 19, 39)
	c := crowd.Config{Seed: seed, Nodes: int(2 + seed*7%most), Loss: []int{0, 5, 20, 5, 20}[seed%5], Stalls: seed%5 > 2, Rounds: 200}
	if seed%2 == 0 {
		c.Electors = min([]int{3, 5, 7}[seed%3], c.Nodes)
	}
	return c
}

// Worlds in which something once broke.
func TestWhatOnceBroke(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]crowd.Config{
		"two of three electors without a connection to each other led, since the third was deaf, and neither believed what the crowd brought of the other": {
			Nodes: 6, Seed: 930, Rounds: 300, Electors: 3, Loss: 20,
		},
		"an elector that was cut off for eight rounds heard two others before the leader, and deposed it": {Nodes: 7, Seed: 23, Rounds: 200, Electors: 7},
		"a node of the crowd missed the first word of a new leader, and heard of it ten rounds later":     {Nodes: 10, Seed: 7, Electors: 7, Loss: 20, Scene: "crash"},
	} {
		r := crowd.Run(c)
		worldtest.Clean(t, r)
		if took := r.Stats["agreement_tenths_max"]; c.Scene != "" && took > 120 {
			t.Errorf("%s: all agree after %d tenths of a round", what, took)
		}
	}
}

// A leader that starts again while late copies of its old claim are on their way starts no storm: each word is passed on once by each node, and all is
// quiet again (B3).
func TestNoStorm(t *testing.T) {
	t.Parallel()
	nodes, seeds := 12, []uint64{1, 8, 15}
	if worldtest.Nightly() {
		nodes, seeds = 60, []uint64{10, 11, 14}
	}
	for _, seed := range seeds {
		worldtest.Clean(t, crowd.Run(crowd.Config{Nodes: nodes, Seed: seed, Loss: 20, Stalls: true, Rounds: 5 * nodes}))
	}
}

// Each world with one trouble.
func TestScenes(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	for _, scene := range crowd.Simulator().Scenes {
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			c := crowd.Config{Scene: scene.Name}
			if scene.In.Nodes == 0 && !worldtest.Nightly() {
				c.Nodes = 10
			}
			if scene.Name == "calm" && !worldtest.Nightly() { // TestNoReignIsNeedless has it
				return
			}
			for seed := range worldtest.Enough[uint64](1, 1, 40) {
				c.Seed = seed + 1
				worldtest.Clean(t, crowd.Run(c))
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls, and with it none does in the same world (D13, B7).
func TestEveryRuleIsNeeded(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	worldtest.Rules(t, crowd.Simulator(), 1, 1, func(rule string, c *crowd.Config) {
		if rule != "peer-cache" && !worldtest.Nightly() {
			c.Nodes = 16
		}
	})
}

// loss is how messages are lost, and what that costs: how many rounds a start may take where nobody is connected yet, and a new leader.
type loss struct {
	percent     int
	stalls      bool
	boot, crash int64
}

// Seven rounds for a start and twelve for a new leader hold with 0 to 20 % of the messages lost, but for a start in which the connections are
// still to be made. The others are what was measured: with 5 % stalled, and five of nine electors left, five of 60 worlds took longer than
// twelve.
var losses = []loss{
	{0, false, 7, 12}, {5, false, 7, 12}, {20, false, 9, 12}, {5, true, 7, 14}, {20, true, 10, 17},
}

func (l loss) String() string {
	return fmt.Sprint(l.percent, map[bool]string{true: " % stalled", false: " % lost"}[l.stalls])
}

// The figures: a cold start takes 7 rounds, a new leader 2 × diameter + 4, whether one dies or the first four; and no reign is needless.
// Large crowds are for the night.
func TestFigures(t *testing.T) {
	t.Parallel()
	sizes, seeds := []int{5, 12}, uint64(1)
	if worldtest.Nightly() {
		sizes, seeds = []int{5, 50, 500, 5000}, 3
	} else if worldtest.Few() {
		sizes = []int{5}
	}
	for _, n := range sizes {
		for _, loss := range losses {
			for _, electors := range []int{0, min(n, 7)} {
				t.Run(fmt.Sprint(n, " nodes, ", electors, " electors, ", loss), func(t *testing.T) {
					t.Parallel()
					for seed := range seeds {
						c := crowd.Config{Nodes: n, Electors: electors, Loss: loss.percent, Stalls: loss.stalls, Seed: seed + 1}
						within(t, c, "cold", 7)
						within(t, c, "boot", loss.boot)
						within(t, c, "crash", loss.crash)
						if electors == 0 || n > 5 {
							c.Electors = min(electors, 1) * 9 // four die, and a majority is left
							within(t, c, "crash-four", loss.crash)
						}
					}
				})
			}
		}
	}
}

// A node of the crowd whose first question is lost asks again in the next round, not after ten.
func TestAFirstAnswerIsLost(t *testing.T) {
	t.Parallel()
	within(t, crowd.Config{Nodes: 12, Seed: 2, Electors: 3, Loss: 20, Rounds: 30}, "boot", 9)
}

// With the diameter of the document, 8, a new leader takes 20 rounds.
func TestTheDocumentsDiameter(t *testing.T) {
	t.Parallel()
	for _, electors := range []int{0, 5} {
		within(t, crowd.Config{Nodes: 5, Electors: electors, Loss: 20, Diameter: 8, Seed: 1}, "crash", 2*8+4)
	}
}

// within wants the longest way to agreement in a scene to take so many rounds.
func within(t *testing.T, c crowd.Config, scene string, rounds int64) {
	t.Helper()
	c.Scene = scene
	r := crowd.Run(c)
	worldtest.Clean(t, r)
	if took := r.Stats["agreement_tenths_max"]; took > 10*rounds || r.Stats["agreements"] == 0 {
		t.Errorf("%s with seed %d: all agree after %d.%d rounds, want %d", scene, c.Seed, took/10, took%10, rounds)
	}
	if r.Stats["needless_reigns"] > 0 {
		t.Errorf("%s with seed %d: %d needless reigns", scene, c.Seed, r.Stats["needless_reigns"])
	}
}

// Nobody takes a reign but the first in 1,000 rounds, however messages are lost; except that with three or five electors a fifth of
// whose messages stall a leader may be heard by nobody for a validity.
func TestNoReignIsNeedless(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	crowds := []crowd.Config{{Nodes: 5}, {Nodes: 5, Electors: 3}, {Nodes: 5, Electors: 5}, {Nodes: 12, Electors: 7}}
	if worldtest.Nightly() {
		crowds = append(crowds, crowd.Config{Nodes: 50}, crowd.Config{Nodes: 500, Electors: 7}, crowd.Config{Nodes: 5000, Electors: 7})
	}
	for _, c := range crowds {
		for _, loss := range losses {
			t.Run(fmt.Sprint(c.Nodes, " nodes, ", c.Electors, " electors, ", loss), func(t *testing.T) {
				t.Parallel()
				c := c
				c.Scene, c.Seed, c.Loss, c.Stalls = "calm", 1, loss.percent, loss.stalls
				r := crowd.Run(c)
				worldtest.Clean(t, r)
				few := c.Stalls && c.Loss == 20 && (c.Electors == 3 || c.Electors == 5)
				if needless := r.Stats["reigns"] - 1; needless != 0 && !few || needless > 4 {
					t.Errorf("%d reigns were needless in 1,000 rounds", needless)
				}
			})
		}
	}
}

// The judge sees two leaders where a minority of the electors names one of its own.
func TestTwoLeadersAreSeen(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	const rule = "elector-majority"
	if patchedtest.Elsewhere(t, rule) {
		return
	}
	r := crowd.Run(crowd.Config{Scene: "partition-electors", Break: rule, Nodes: 5, Electors: 5, Seed: 1})
	if !r.Has(crowd.OneOfMany) || r.Stats["two_named_tenths_max"] < 100 {
		t.Errorf("for %d tenths of a round two are named, and the violations are %v", r.Stats["two_named_tenths_max"], r.Violations)
	}
}

// A node of the crowd wakes as an agent does: some ten rounds apart, since that is when a peer is to be asked, and no four times a round.
func TestTheCrowdRests(t *testing.T) {
	t.Parallel()
	const nodes, electors, rounds = 10, 3, 200
	r := crowd.Run(crowd.Config{Nodes: nodes, Electors: electors, Scene: "calm", Rounds: rounds, Seed: 1})
	if each := float64(r.Stats["crowd_ticks"]) / (nodes - electors) / rounds; each < 0.05 || each > 0.25 {
		t.Errorf("in each round a node of the crowd wakes %.2f times", each)
	}
}

// Each report has all figures, whatever the scene.
func TestReportsAreWhole(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	scenes := []string{""}
	for _, scene := range crowd.Simulator().Scenes {
		scenes = append(scenes, scene.Name)
	}
	for _, name := range scenes {
		r := crowd.Run(crowd.Config{Seed: 1, Scene: name, Nodes: 8, Rounds: 20})
		for _, figure := range []string{
			"agreements", "agreement_tenths", "agreement_tenths_max", "needless_reigns", "reigns", "without_leader_tenths", "two_leaders_tenths",
			"messages", "bytes", "bytes_per_node_round_max", "overlay_bytes", "stalled_reigns", "two_named_tenths_max", "two_named_crowd_tenths_max", "arcs_hundredths_max", "neighbours_tenths_max", "neighbours_max",
		} {
			if _, is := r.Stats[figure]; !is {
				t.Errorf("the report of %q lacks %s", name, figure)
			}
		}
	}
}

// The overlay on which a crowd begins is one that has grown: views have H_n − ½ arcs on average, and half an arc more, since all join by
// the three oldest nodes.
func TestTheOverlayHasGrown(t *testing.T) {
	t.Parallel()
	for n, seeds := range map[int]uint64{5: 20, 50: 6} {
		if n > 5 && worldtest.Few() {
			continue
		}
		if worldtest.Nightly() {
			seeds = 40
		}
		sum := int64(0)
		for seed := range seeds {
			sum += crowd.Run(crowd.Config{Seed: seed + 1, Nodes: n, Scene: "cold", Rounds: 20}).Stats["arcs_hundredths_max"]
		}
		want := -0.5
		for i := range n {
			want += 1 / float64(i+1)
		}
		if got := float64(sum) / float64(seeds) / 100; math.Abs(got-want-0.5) > 0.5 {
			t.Errorf("views of %d nodes have %.2f arcs on average, want %.2f", n, got, want)
		}
	}
}

// Equal configurations give equal runs.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	c := crowd.Config{Seed: 3, Nodes: worldtest.Enough(8, 20, 20), Rounds: 120, Loss: 5}
	worldtest.Equal(t, func() world.Report { return crowd.Run(c) })
}
