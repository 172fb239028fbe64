package sim_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

// enough is many times the number of seeds that the rarest mutant needs.
const enough = 2000

// fallen has seeds at which a mutant was found, where it is not found within ten. By day the search begins there;
// at night it begins with the first seed, which shows how gentle the world has become.
var fallen = map[string]int{
	"advance-waits/process": 72, "advance-waits/session": 71, "answers-waited/process": 49, "answers-waited/session": 18,
	"boottime/process": 20, "boottime/session": 20, "count-then-check/process": 25, "count-then-check/session": 16,
	"dead-is-parted/process": 31, "dead-is-parted/session": 31, "evicts-the-old/process": 682, "evicts-the-old/session": 682,
	"farewell-unlocks-own/session": 98, "farewell-waits-for-nobody/process": 19, "farewell-waits-for-nobody/session": 19,
	"fast-waits-to-promise/process": 17, "hold-from-reply/process": 31, "hold-from-reply/session": 31,
	"hold-stored/process": 92, "hold-stored/session": 93, "leases-registered/process": 99, "leases-registered/session": 99,
	"margin/process": 53, "margin/session": 91, "no-server-clock/process": 38, "no-server-clock/session": 38,
	"process-key-rechecked/process": 14, "promise-not-forgotten/process": 59, "promise-not-forgotten/session": 59,
	"release-in-history/process": 51, "release-in-history/session": 51, "released-only-when-entered/process": 20,
	"remember-then-look/process": 78, "remember-then-look/session": 142, "server-lease/process": 135,
	"settle-after-entry/process": 121, "settle-after-entry/session": 121, "shares-for-an-instant/process": 17,
	"splits-farewells/session": 29, "term-in-predicate/session": 17,
}

// A run without a rule violates the rule's invariant; with the rule the same seed is clean.
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

// falls looks for a seed that violates the invariant of a broken rule.
func falls(t *testing.T, rule sim.RuleInfo, locks string) {
	t.Helper()
	if rule.Why == "" {
		t.Error("the rule has no Why")
	}
	known := fallen[rule.Name+"/"+locks]
	first := slice(known, known, 0)
	for i := range enough {
		seed := (first + i) % enough
		// The defaults are filled in now, so that the world stays the same once the rule is kept.
		cfg := sim.Config{Seed: uint64(seed), Break: rule.Name, Locks: locks}.WithDefaults()
		r := sim.Election(cfg)
		if !r.Has(rule.Invariant) {
			continue
		}
		t.Logf("%s by %s falls at seed %d: %s", rule.Name, locks, seed, r.Violations[0].Detail)
		if cfg.Break = baseline(rule.Name); cfg.Break == "" {
			clean(t, cfg)
		} else if sim.Election(cfg).Has(rule.Invariant) {
			t.Errorf("seed %d violates %s with this rule kept too", seed, rule.Invariant)
		}
		return
	}
	t.Errorf("%d seeds without this rule do not violate %s: is the world too gentle, or the rule not needed?", enough, rule.Invariant)
}

func clean(t *testing.T, cfg sim.Config) {
	t.Helper()
	for _, v := range sim.Election(cfg).Violations {
		t.Errorf("all rules are kept, but %s is violated: %s\nreplay: %s", v.Invariant, v.Detail, v.Replay)
	}
}

// baseline returns the rule to break for comparison. Only with lying locks do two processes of
// one name have sessions that both matter, so term-in-predicate is broken along with these.
func baseline(name string) string {
	if name == string(electiontest.TermInPredicate) {
		return string(electiontest.LockExcludes)
	}
	return ""
}

// Validate refuses a world in which the broken rule cannot show.
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
		{sim.Config{Break: "lock-excludes", Takeover: election.Fast}, ""}, // no invariant needs it
		{sim.Config{Break: "term-in-predicate", Nodes: 3}, ""},            // two may be away for long enough
		{sim.Config{Break: "connect-again", Nodes: 2}, ""},                // both may have lost their sessions
	} {
		switch err := c.cfg.Validate(); {
		case c.needs == "" && err != nil:
			t.Errorf("%+v: %v, want no error", c.cfg, err)
		case c.needs != "" && (err == nil || !strings.HasSuffix(err.Error(), "it needs "+c.needs)):
			t.Errorf("%+v: %v, want an error that it needs %s", c.cfg, err, c.needs)
		}
	}
}

// The row is the truth, the lock only says when to bid. With locks that every session gets,
// leaders depose each other again and again, but no invariant other than liveness breaks.
func TestLyingLockIsHarmless(t *testing.T) {
	t.Parallel()
	var restless atomic.Int64
	each(slice(30, 90, 3600), func(seed int) {
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
		t.Error("the lying lock did not violate liveness: did it lie?")
	}
}
