package sim_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/internal/sim"
)

// enough seeds for the rarest mutant, many times over.
const enough = 2000

// Each rule of the design, broken and nothing else said: its invariant breaks, and the
// same seed is clean with the rule in place.
func TestRules(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it looks for one seed among thousands")
	}
	for _, rule := range sim.Rules() {
		if rule.Invariant == "" {
			continue
		}
		for _, locks := range []string{sim.LocksSession, sim.LocksProcess} {
			if rule.Locks == "" || rule.Locks == locks {
				t.Run(rule.Name+"/"+locks, func(t *testing.T) {
					t.Parallel()
					falls(t, rule, locks)
				})
			}
		}
	}
}

// falls looks for a seed that shows what a rule is for.
func falls(t *testing.T, rule sim.RuleInfo, locks string) {
	t.Helper()
	if rule.Why == "" {
		t.Error("nobody knows what it is for")
	}
	for seed := range enough {
		// Resolved, so that it is the same world once the rule is kept.
		cfg := sim.Config{Seed: uint64(seed), Break: rule.Name, Locks: locks}.WithDefaults()
		r := sim.Election(cfg)
		if !r.Has(rule.Invariant) {
			continue
		}
		t.Logf("%s by %s falls at seed %d: %s", rule.Name, locks, seed, r.Violations[0].Detail)
		if cfg.Break = baseline(rule.Name); cfg.Break == "" {
			clean(t, cfg)
		} else if sim.Election(cfg).Has(rule.Invariant) {
			t.Errorf("seed %d breaks %s without this rule broken as well", seed, rule.Invariant)
		}
		return
	}
	t.Errorf("%d seeds without this rule, and %s held: is the world too gentle, or the rule not needed?", enough, rule.Invariant)
}

func clean(t *testing.T, cfg sim.Config) {
	t.Helper()
	for _, v := range sim.Election(cfg).Violations {
		t.Errorf("the rules are kept, and %s breaks: %s\nreplay: %s", v.Invariant, v.Detail, v.Replay)
	}
}

// baseline: only a lock that lies lets two processes of one name hold sessions
// that both matter, so this rule is broken among such locks, and compared to them.
func baseline(name string) string {
	if name == string(electiontest.TermInPredicate) {
		return string(electiontest.LockExcludes)
	}
	return ""
}

// A rule is not said to be broken without harm where it could do none.
func TestRulesNeedTheirWorlds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   sim.Config
		needs string
	}{
		{sim.Config{Break: "fast-waits-to-promise"}, ""},
		{sim.Config{Break: "fast-waits-to-promise", Takeover: election.Strict}, "--takeover mixed"},
		{sim.Config{Break: "hold-waits", Takeover: election.Keep}, ""},
		{sim.Config{Break: "hold-waits", Takeover: election.Fast}, "--takeover strict"},
		{sim.Config{Break: "hold-waits", Takeover: sim.TakeoverMixed}, ""},
		{sim.Config{Break: "epoch-jumps", Takeover: election.Fast}, ""},
		{sim.Config{Break: "epoch-jumps", Takeover: sim.TakeoverMixed}, "--takeover strict"},
		{sim.Config{Break: "server-lease", Takeover: sim.TakeoverMixed}, "--takeover strict"},
		{sim.Config{Break: "tombstone", Locks: sim.LocksSession}, "--locks process"},
		{sim.Config{Break: "tombstone", Locks: sim.LocksMixed}, ""},
		{sim.Config{Break: "lock-excludes", Takeover: election.Fast}, ""}, // needed for nothing, anywhere
		{sim.Config{Break: "term-in-predicate", Nodes: 3}, ""},            // two may be away for as long as it takes
		{sim.Config{Break: "connect-again", Nodes: 2}, ""},                // both may have lost their sessions
	} {
		switch err := c.cfg.Validate(); {
		case c.needs == "" && err != nil:
			t.Errorf("%+v: %v", c.cfg, err)
		case c.needs != "" && (err == nil || !strings.HasSuffix(err.Error(), "it needs "+c.needs)):
			t.Errorf("%+v: %v, want that it needs %s", c.cfg, err, c.needs)
		}
	}
}

// The row is the truth, the lock only says when to try: with a lock that everybody
// gets, leaders chase each other away, which is no way to live, but never do two
// act, and nothing is promised or committed that should not be.
func TestLyingLockIsHarmless(t *testing.T) {
	t.Parallel()
	var restless atomic.Int64
	each(nightly(90), func(seed int) {
		cfg := config(seed, election.Strict)
		cfg.Locks = lockings[seed/3%len(lockings)]
		cfg.Steps, cfg.Break = 700, string(electiontest.LockExcludes)
		for _, v := range sim.Election(cfg).Violations {
			if v.Invariant == sim.Liveness {
				restless.Add(1)
				continue
			}
			t.Errorf("%s: %s\nreplay: %s", v.Invariant, v.Detail, v.Replay)
		}
	})
	if restless.Load() == 0 {
		t.Error("the lock that lies made no difference: did it lie?")
	}
}
