//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/conchhq/conch/gossip/gossiptest"
)

// What gossip was asked to be in rounds, with 5 to 5,000 nodes and 0 to 20 % of the messages lost. In a calm time no reign is needless.
const (
	askedCold = 7
	calmFor   = 1000
)

// scenes are the troubles of which the simulator measures how long agreement takes. Some need more nodes than electors of the usual number.
var scenes = []struct {
	name, scene string
	electors    int // so many, or the usual number; and more nodes than that
	asked       float64
}{
	{"cold", "cold", 0, askedCold},
	{"killed", "crash", 0, askedRounds},
	{"four_killed", "crash-four", 9, askedRounds},
}

// simulatedRounds measures how many rounds it takes until all agree, the longest of some runs of each size: everybody may lead, or a few.
// Where hundreds may all lead nothing is measured, and thousands with the most losses only: the simulator needs minutes for a second of theirs.
func simulatedRounds(ctx context.Context, cfg Config, r *Report) error {
	a := cfg.amounts()
	for _, nodes := range append(slices.Clone(a.sizes), a.simulated) {
		cfg.Say("gossip: how many rounds it takes until %d agents agree, in the simulator …", nodes)
		for _, s := range scenes {
			if nodes <= s.electors {
				continue
			}
			electors := []int{min(nodes, max(a.electors, s.electors))}
			if nodes < 100 {
				electors = append(electors, 0)
			}
			longest, err := longestOf(ctx, s.scene, nodes, electors)
			if err != nil {
				return err
			}
			r.beside(fmt.Sprintf("%s_%d_rounds", s.name, nodes), float64(longest)/10, s.asked, "rounds")
		}
	}
	return needless(ctx, cfg, r)
}

// longestOf returns how long agreement took at most, in tenths of a round.
func longestOf(ctx context.Context, scene string, nodes int, electors []int) (longest int64, err error) {
	losses := []int{0, 5, 20}
	if nodes >= 1000 {
		losses = losses[2:]
	}
	for _, few := range electors {
		for _, loss := range losses {
			s, err := simulated(ctx, "--nodes %d --electors %d --loss %d --scene %s", nodes, few, loss, scene)
			if err != nil {
				return 0, err
			}
			if s["agreements"] == 0 {
				return 0, fmt.Errorf("%d agents, of which %d may lead, did not agree in the scene %s", nodes, few, scene)
			}
			longest = max(longest, s["agreement_tenths_max"])
		}
	}
	return longest, nil
}

// needless counts reigns without a cause, in a time in which nothing happens.
func needless(ctx context.Context, cfg Config, r *Report) error {
	a := cfg.amounts()
	cfg.Say("gossip: %d rounds in which nothing happens, in the simulator …", calmFor)
	var reigns int64
	for _, nodes := range a.sizes {
		for _, loss := range []int{0, 5, 20} {
			s, err := simulated(ctx, "--nodes %d --electors %d --loss %d --scene calm --rounds %d", nodes, min(nodes, a.electors), loss, calmFor)
			if err != nil {
				return err
			}
			reigns += s["needless_reigns"]
		}
	}
	r.add(fmt.Sprintf("needless_reigns_in_%d_rounds", calmFor), float64(reigns), "reigns")
	return nil
}

// simulated returns the figures of a run with such flags that keeps all promises.
func simulated(ctx context.Context, flags string, args ...any) (map[string]int64, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	crowd := gossiptest.Simulator()
	asked, err := crowd.Asked(fmt.Sprintf(flags, args...))
	if err != nil {
		return nil, err
	}
	report := crowd.Run(asked)
	if len(report.Violations) > 0 {
		return nil, fmt.Errorf("the simulated crowd breaks a promise: %s: %s", report.Violations[0].Invariant, report.Violations[0].Detail)
	}
	return report.Stats, nil
}
