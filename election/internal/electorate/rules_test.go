package electorate_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/election/internal/electorate"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// enough is many times the number of seeds that the rarest mutant needs.
const enough = 2000

// fallen has seeds at which a mutant was found, where it is not found within ten. By day the search begins there;
// at night it begins with the first seed, which shows how gentle the world has become.
var fallen = map[string]int{
	"act-max/process": 26, "act-max/session": 26, "advance-waits/process": 112, "advance-waits/session": 77,
	"answer-within-deadline/process": 16, "answer-within-deadline/session": 16, "answers-waited/process": 48,
	"answers-waited/session": 48, "boottime/process": 47, "boottime/session": 47, "compare-at-use/process": 18,
	"compare-at-use/session": 18, "count-then-check/process": 53, "count-then-check/session": 53, "evicts-the-old/process": 981,
	"evicts-the-old/session": 981, "farewell-unlocks-own/session": 83, "farewell-waits-for-nobody/process": 60,
	"farewell-waits-for-nobody/session": 38, "fast-waits-to-promise/process": 119, "fast-waits-to-promise/session": 119,
	"hold-from-reply/process": 62, "hold-from-reply/session": 62, "hold-stored/process": 254, "hold-stored/session": 212,
	"honest-max/process": 27, "honest-max/session": 27, "leases-registered/process": 83, "leases-registered/session": 83,
	"margin/process": 112, "margin/session": 44, "no-server-clock/process": 88, "no-server-clock/session": 88,
	"promise-not-forgotten/process": 52, "promise-not-forgotten/session": 168, "release-in-history/process": 10,
	"release-in-history/session": 10, "released-only-when-entered/process": 15, "released-only-when-entered/session": 15,
	"remember-then-look/process": 57, "remember-then-look/session": 112, "server-lease/process": 11,
	"settle-after-entry/process": 32, "settle-after-entry/session": 254, "splits-farewells/process": 21,
	"term-in-predicate/session": 10, "tombstone/process": 26,
}

// A run without a rule violates the rule's invariant; with the rule the same seed is clean.
func TestRules(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it looks for one seed among thousands")
	}
	for _, rule := range electorate.Simulator().Rules {
		if rule.Invariant == "" {
			continue
		}
		for _, locks := range []string{electorate.LocksSession, electorate.LocksProcess} {
			if rule.In.Locks == "" || rule.In.Locks == locks {
				t.Run(rule.Name+"/"+locks, func(t *testing.T) {
					t.Parallel()
					falls(t, rule, locks)
				})
			}
		}
	}
}

// falls looks for a seed that violates the invariant of a broken rule.
func falls(t *testing.T, rule world.Rule[electorate.Config], locks string) {
	t.Helper()
	if rule.Why == "" {
		t.Error("the rule has no Why")
	}
	known := fallen[rule.Name+"/"+locks]
	first := slice(known, known, 0)
	for i := range enough {
		seed := (first + i) % enough
		// The defaults are filled in now, so that the world stays the same once the rule is kept.
		cfg := electorate.Config{Seed: uint64(seed), Break: rule.Name, Locks: locks}.WithDefaults()
		r := electorate.Run(cfg)
		if !r.Has(rule.Invariant) {
			continue
		}
		t.Logf("%s by %s falls at seed %d: %s", rule.Name, locks, seed, r.Violations[0].Detail)
		if cfg.Break = baseline(rule.Name); cfg.Break == "" {
			worldtest.Clean(t, electorate.Run(cfg))
		} else if electorate.Run(cfg).Has(rule.Invariant) {
			t.Errorf("seed %d violates %s with this rule kept too", seed, rule.Invariant)
		}
		return
	}
	t.Errorf("%d seeds without this rule do not violate %s: is the world too gentle, or the rule not needed?", enough, rule.Invariant)
}

// baseline returns the rule to break for comparison. Only with lying locks do two processes of
// one name have sessions that both matter, so term-in-predicate is broken along with these.
func baseline(name string) string {
	if name == string(store.TermInPredicate) {
		return string(store.LockExcludes)
	}
	return ""
}

// Validate refuses a world in which the broken rule cannot show.
func TestRulesNeedTheirWorlds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   electorate.Config
		needs string
	}{
		{electorate.Config{Break: "fast-waits-to-promise"}, ""},
		{electorate.Config{Break: "fast-waits-to-promise", Takeover: mint.Strict}, "--takeover mixed"},
		{electorate.Config{Break: "hold-waits", Takeover: mint.Keep}, ""},
		{electorate.Config{Break: "hold-waits", Takeover: mint.Fast}, "--takeover strict"},
		{electorate.Config{Break: "hold-waits", Takeover: electorate.TakeoverMixed}, ""},
		{electorate.Config{Break: "epoch-jumps", Takeover: mint.Fast}, ""},
		{electorate.Config{Break: "epoch-jumps", Takeover: electorate.TakeoverMixed}, "--takeover strict"},
		{electorate.Config{Break: "server-lease", Takeover: electorate.TakeoverMixed}, "--takeover strict"},
		{electorate.Config{Break: "tombstone", Locks: electorate.LocksSession}, "--locks process"},
		{electorate.Config{Break: "tombstone", Locks: electorate.LocksMixed}, ""},
		{electorate.Config{Break: "lock-excludes", Takeover: mint.Fast}, ""}, // no invariant needs it
		{electorate.Config{Break: "term-in-predicate", Nodes: 3}, ""},        // two may be away for long enough
		{electorate.Config{Break: "connect-again", Nodes: 2}, ""},            // both may have lost their sessions
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
		cfg := config(seed, mint.Strict)
		cfg.Locks = lockings[seed/3%len(lockings)]
		cfg.Steps, cfg.Break = 700, string(store.LockExcludes)
		for _, v := range electorate.Run(cfg).Violations {
			if v.Invariant == electorate.Liveness {
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
