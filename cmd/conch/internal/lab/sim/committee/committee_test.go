package committee_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/patched/patchedtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/committee"
	"github.com/conchhq/conch/sequencer/ranking"
)

// nightly reports whether there is time for many seeds.
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

// I1 to I6, I9, I10, P8 to P20, P24 to P43: committees of 2 to 7 nodes under every fault, by day for a short time each.
func TestCommittees(t *testing.T) {
	t.Parallel()
	const groups = 4
	seeds := uint64(120)
	if nightly() {
		seeds = 10_000
	} else if few() {
		seeds = 24
	}
	for group := range uint64(groups) {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for seed := group + 1; seed <= seeds && !t.Failed(); seed += groups {
				c := committee.Config{Seed: seed, Nodes: int(2 + seed%6), Intents: 12, Faults: 15 * time.Second}
				if seed%5 == 0 {
					c.Needed = c.Nodes // all must endorse (P13)
				}
				if nightly() && seed%2 == 0 {
					c.Intents, c.Faults = 40, time.Minute
				}
				report(t, committee.Run(c))
			}
		})
	}
}

// P3: the same with the ring of document 002, whose nodes have other shares and other successors. Preference decides only
// whom a sender chooses, so nothing else may depend on it.
func TestCommitteesOnTheRing(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if nightly() {
		seeds = 1000
	} else if few() {
		seeds = 8
	}
	differs := false
	for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
		c := committee.Config{Seed: seed, Nodes: int(2 + seed%6), Intents: 12, Faults: 15 * time.Second, Policy: ranking.RingName}
		r := committee.Run(c)
		report(t, r)
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
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			report(t, committee.Run(c))
		})
	}
}

// What a coordinator counts, locks and lists is what its work says, after each step.
func TestAudit(t *testing.T) {
	t.Parallel()
	seeds := uint64(30)
	if nightly() {
		seeds = 5_000
	} else if few() {
		seeds = 4
	}
	for seed := range seeds {
		c := committee.Config{Seed: 10_000 + seed, Nodes: int(1 + seed%6), Intents: 20, Faults: 15 * time.Second, Audit: true}
		if seed%4 == 0 {
			c.Needed = c.Nodes
		}
		report(t, committee.Run(c))
		if t.Failed() {
			return
		}
	}
}

// I8, I9, P7: without faults only the node dispatches that the ranking names, and what has nothing in flight is silent.
func TestCalm(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if few() {
		seeds = 4
	}
	for seed := range seeds {
		report(t, committee.Run(committee.Config{Seed: seed + 1, Nodes: int(2 + seed%9), Calm: true, Intents: 30, Faults: 30 * time.Second}))
	}
}

// Without faults nothing that is dispatched is skipped, however much spends and reads the same states at once: what a state
// needs goes before it, and what only reads it before what spends it.
func TestCalmAndBusy(t *testing.T) {
	whole(t)
	t.Parallel()
	seeds := uint64(8)
	if nightly() {
		seeds = 1000
	}
	for seed := range seeds {
		report(t, committee.Run(committee.Config{Seed: seed + 1, Nodes: int(1 + seed%5), Calm: true, Intents: 300, Faults: 10 * time.Second}))
	}
}

// A large committee (P1, P25).
func TestALargeCommittee(t *testing.T) {
	t.Parallel()
	nodes := 20
	if nightly() {
		nodes = 50
	}
	report(t, committee.Run(committee.Config{Seed: 1, Nodes: nodes, Intents: 30, Faults: 20 * time.Second}))
}

// Q9: each world with one trouble: nobody starves.
func TestScenes(t *testing.T) {
	whole(t)
	t.Parallel()
	names, _ := committee.Scenes()
	for _, name := range names {
		if strings.HasPrefix(name, "liar-") {
			continue // TestLiars
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := uint64(1)
			if nightly() {
				seeds = 30
			}
			for seed := range seeds {
				report(t, committee.Run(committee.Config{Seed: seed + 1, Scene: name}))
			}
		})
	}
}

// A member that lies with each kind of message, to a contract that is used: no honest payment waits for two ranges longer than
// where nobody lies, most wait no longer at all, nobody is told a lie, and no money is lost.
func TestLiars(t *testing.T) {
	whole(t)
	t.Parallel()
	names, _ := committee.Scenes()
	for _, name := range names {
		if !strings.HasPrefix(name, "liar-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := uint64(1)
			if nightly() {
				seeds = 30
			}
			for seed := range seeds {
				r := committee.Run(committee.Config{Seed: seed + 1, Scene: name})
				report(t, r)
				if skipped := r.Stats["skipped"]; skipped > r.Stats["landed"]/2 {
					t.Errorf("%d entries are skipped beside %d that land", skipped, r.Stats["landed"])
				}
			}
		})
	}
}

// For each rule: without it the invariant that it is for falls (Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q10, Q11, Q12, Q13, Q15,
// Q17).
func TestEveryRuleIsNeeded(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, rule := range committee.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			if patchedtest.Elsewhere(t, rule.Name) {
				return
			}
			for seed := range uint64(200) {
				r := committee.Run(committee.Config{Seed: committee.Shows(rule.Name) + seed, Break: rule.Name})
				if r.Has(rule.Invariant) {
					t.Logf("falls with seed %d: %s", r.Seed, r.Violations[0].Detail)
					return
				}
			}
			t.Errorf("without %s nothing broke %q, and %s", rule.Name, rule.Invariant, rule.Why)
		})
	}
}

// Equal configurations give equal runs.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	one := committee.Run(committee.Config{Seed: 3, Intents: 20})
	if two := committee.Run(committee.Config{Seed: 3, Intents: 20}); one.Trace != two.Trace || one.Steps != two.Steps {
		t.Errorf("one run of %d steps has the hash %s, the other of %d steps %s", one.Steps, one.Trace, two.Steps, two.Trace)
	}
}
