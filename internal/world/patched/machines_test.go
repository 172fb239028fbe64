package patched_test

import (
	"path"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/internal/world/patched/patchedtest"
)

// The tests of machines fail without the rules that no world of a wing shows, or shows of another machine.
func TestMachinesNeedTheirRules(t *testing.T) {
	runtest.LongRun(t) // it builds the tests of machines
	t.Parallel()
	for folder, rules := range map[string]map[string]string{
		"txlog/internal/follower": {
			"follower/committed-only": "TestWorld", "follower/never-skip": "TestWorld", "follower/members-say": "TestWorld",
			"follower/always-serve": "TestParkedNodesServe",
		},
		"txlog/quorum/internal/majority": {"no-forward": "TestNoForward"},
		"pending": {
			"no-pad": "TestLivingWorlds", "life-at-once": "TestLivingWorlds", "forget-landed": "TestLivingWorlds", "immortal": "TestLivingWorlds",
			"new-nonce-on-expiry": "TestWearingWorlds", "new-nonce-on-upgrade": "TestWearingWorlds", "bad-proof-rejects": "TestWearingWorlds",
			"final-by-number": "TestWearingWorlds",
		},
		"txlog/prolog": {
			"snapshot-iterators": "TestTheTrap", "clause-is-itself": "TestACallSeesTheClausesOfItsBeginning", "seen-stays": "TestACallSeesTheClausesOfItsBeginning",
			"view-stays": "TestAQueryHasItsTime", "name-not-place": "TestADiffNamesClauses", "no-world": "TestThereIsNoWorld", "cut-through": "TestACutGoesThrough",
			"fail-is-empty": "TestAFailureIsEmpty", "predicate-stays": "TestAPredicateStays", "query-changes-nothing": "TestAQueryChangesNothing",
			"stored-is-small": "TestWhatIsStoredIsSmall",
		},
		"sequencer/internal/sender": {
			"sender/current-delegate": "TestAGrantIsOfItsDelegation", "sender/same-payload": "TestAnotherPayloadIsAnotherIntent",
			"sender/rising-in-a-delegation": "TestWhatComesBackIsInAnotherDelegation",
			"sender/own-needs":              "TestACoordinatorDoesNotSayWhoCreatesAState", "sender/hold-after-start": "TestARestoredIntentIsHeld",
		},
	} {
		for rule, test := range rules {
			t.Run(folder+" "+path.Base(rule), func(t *testing.T) {
				t.Parallel()
				patchedtest.Falls(t, folder, test, rule)
			})
		}
	}
}

// The stories of machines that lack a rule say what comes of that.
func TestStoriesWithoutARule(t *testing.T) {
	runtest.LongRun(t) // it builds the tests of machines
	t.Parallel()
	for folder, stories := range map[string]map[string]string{
		"txlog/internal/follower": {
			"early-dropped": "follower/keep-early", "no-head-applied": "follower/committed-only", "given-up": "follower/never-skip",
			"rewind": "follower/never-rewind", "serves-nobody": "follower/always-serve", "anybody-s-head": "follower/members-say",
			"own-request": "follower/own-request", "only-the-first": "follower/ask-others",
		},
		"txlog/internal/member":  {"spoiled-disk": "look-before-storing", "opening-broken": "opening"},
		"txlog/internal/courier": {"skipped": "courier/never-skip"},
	} {
		for story, rule := range stories {
			t.Run(path.Base(folder)+" "+story, func(t *testing.T) {
				t.Parallel()
				patchedtest.Holds(t, folder, "TestStories/"+story, rule)
			})
		}
	}
}
