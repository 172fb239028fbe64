package committee_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched/patchedtest"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/sequencer/internal/committee"
	"github.com/conchhq/conch/sequencer/internal/ranking"
)

// I1 to I6, I9, I10, P8 to P20, P24 to P43: committees of 2 to 7 nodes under every fault, by day for a short time each.
func TestCommittees(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 4, worldtest.Enough[uint64](24, 120, 10_000), func(seed uint64) world.Report {
		c := committee.Config{Seed: seed, Nodes: int(2 + seed%6), Intents: 12, Faults: 15 * time.Second}
		if seed%5 == 0 {
			c.Needed = c.Nodes // all must endorse (P13)
		}
		if worldtest.Nightly() && seed%2 == 0 {
			c.Intents, c.Faults = 40, time.Minute
		}
		return committee.Run(c)
	})
}

// P3: the same with the ring of document 002, whose nodes have other shares and other successors. Preference decides only
// whom a sender chooses, so nothing else may depend on it.
func TestCommitteesOnTheRing(t *testing.T) {
	t.Parallel()
	seeds := worldtest.Enough[uint64](8, 40, 1000)
	differs := false
	for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
		c := committee.Config{Seed: seed, Nodes: int(2 + seed%6), Intents: 12, Faults: 15 * time.Second, Policy: ranking.RingName}
		r := committee.Run(c)
		worldtest.Clean(t, r)
		c.Policy = ""
		differs = differs || seed < 4 && committee.Run(c).Trace != r.Trace
	}
	if !differs {
		t.Error("worlds with the ring are those without it")
	}
}

// Seeds that have failed once, among ten thousand.
func TestFormerFaults(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]committee.Config{
		"contents that a coordinator had heard were not stored": {Seed: 2640, Nodes: 2, Needed: 2, Intents: 40, Faults: time.Minute},
		"an inherited attempt whose read was spent":             {Seed: 1111, Nodes: 3, Needed: 2, Intents: 12, Faults: 15 * time.Second},
		"a handover of an earlier range was answered late":      {Seed: 9120, Nodes: 2, Needed: 2, Intents: 40, Faults: time.Minute},
		"intents of which a restored database knows nothing":    {Seed: 6070, Nodes: 6, Needed: 6, Intents: 40, Faults: time.Minute},
		"a state whose spender an earlier start had given up":   {Seed: 978, Nodes: 5, Needed: 3, Range: 10, Intents: 40, Faults: time.Minute},
		"what was handed over was in a block that is gone":      {Seed: 20443, Nodes: 3, Needed: 2, Intents: 40, Faults: time.Minute},
		"a coordinator was left out after it had caught up":     {Seed: 14, Scene: "few"},
		"a coordinator was left out when it had caught up":      {Seed: 45, Scene: "few"},
		"two coordinated, since one had been left out once":     {Seed: 97, Scene: "few"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			worldtest.Clean(t, committee.Run(c))
		})
	}
}

// What a coordinator counts, locks and lists is what its work says, after each step.
func TestAudit(t *testing.T) {
	t.Parallel()
	for seed := range worldtest.Enough[uint64](4, 30, 5_000) {
		c := committee.Config{Seed: 10_000 + seed, Nodes: int(1 + seed%6), Intents: 20, Faults: 15 * time.Second, Audit: true}
		if seed%4 == 0 {
			c.Needed = c.Nodes
		}
		worldtest.Clean(t, committee.Run(c))
		if t.Failed() {
			return
		}
	}
}

// I8, I9, P7: without faults only the node dispatches that the ranking names, and what has nothing in flight is silent.
func TestCalm(t *testing.T) {
	t.Parallel()
	for seed := range worldtest.Enough[uint64](4, 20, 20) {
		worldtest.Clean(t, committee.Run(committee.Config{Seed: seed + 1, Nodes: int(2 + seed%9), Calm: true, Intents: 30, Faults: 30 * time.Second}))
	}
}

// Without faults nothing that is dispatched is skipped, however much spends and reads the same states at once: what a state
// needs goes before it, and what only reads it before what spends it.
func TestCalmAndBusy(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	for seed := range worldtest.Enough[uint64](8, 8, 1000) {
		worldtest.Clean(t, committee.Run(committee.Config{Seed: seed + 1, Nodes: int(1 + seed%5), Calm: true, Intents: 300, Faults: 10 * time.Second}))
	}
}

// A large committee (P1, P25).
func TestALargeCommittee(t *testing.T) {
	t.Parallel()
	worldtest.Clean(t, committee.Run(committee.Config{Seed: 1, Nodes: worldtest.Enough(20, 20, 50), Intents: 30, Faults: 20 * time.Second}))
}

// Q9: each world with one trouble: nobody starves.
func TestScenes(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	scenes(t, false)
}

// A member that lies with each kind of message, to a contract that is used: no honest payment waits for two ranges longer than
// where nobody lies, most wait no longer at all, nobody is told a lie, and no money is lost.
func TestLiars(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	scenes(t, true)
}

func scenes(t *testing.T, liars bool) {
	t.Helper()
	for _, scene := range committee.Simulator().Scenes {
		if strings.HasPrefix(scene.Name, "liar-") != liars {
			continue
		}
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range worldtest.Enough[uint64](1, 1, 30) {
				r := committee.Run(committee.Config{Seed: seed + 1, Scene: scene.Name})
				worldtest.Clean(t, r)
				if skipped := r.Stats["skipped"]; liars && skipped > r.Stats["landed"]/2 {
					t.Errorf("%d entries are skipped beside %d that land", skipped, r.Stats["landed"])
				}
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q10, Q11, Q12, Q13, Q15,
// Q17).
func TestEveryRuleIsNeeded(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	worldtest.Rules(t, committee.Simulator(), 1, 200, func(string, *committee.Config) {})
}

// That skips end falls too, and not only what is counted at once: without the rule that nothing is built on the dead they go on when the
// last late block has come.
func TestSkipsGoOn(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	if patchedtest.Elsewhere(t, "doomed") {
		return
	}
	if r := committee.Run(committee.Config{Seed: 1, Scene: "few", Break: "doomed"}); !r.Has(committee.SkipsEnd) {
		t.Errorf("skips end without the rule doomed: %+v", r.Violations)
	}
}

// I10: a user's ticket is answered once. A second answer is a violation with a name, and does not end the world.
func TestATicketIsAnsweredTwice(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	if patchedtest.Elsewhere(t, "sequence-per-intent") {
		return
	}
	for seed := uint64(1); seed <= 60; seed++ { // in 18 four have it
		if r := committee.Run(committee.Config{Seed: seed, Break: "sequence-per-intent"}); r.Has(committee.OneAnswer) {
			return
		}
	}
	t.Error("no ticket is answered twice without the rule sequence-per-intent")
}

// Equal configurations give equal runs.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	worldtest.Equal(t, func() world.Report { return committee.Run(committee.Config{Seed: 3, Intents: 20}) })
}
