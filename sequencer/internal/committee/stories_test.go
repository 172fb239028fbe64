package committee_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world/patched/patchedtest"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/sequencer/internal/committee"
)

// P7 to P19, P21 to P31, P35, P39, P40, P42 in a committee: the stories of document 002, message by message. Each is
// judged as every run is. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, committee.Simulator())
}

// P21 to P26: the same where heights decide as document 002 has it, which is without the rule named-range.
func TestStoriesByTheDocument(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	if rule := "named-range"; !patchedtest.Elsewhere(t, rule) {
		worldtest.TextsWithout(t, committee.Simulator(), "strict", rule)
	}
}

// A story falls where a rule is broken: without failure kinds an intent that waits for money is given up.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, committee.Simulator(), "partition", "failure-kinds", committee.NoStarvation)
}

// P5, I7: nobody votes. A range turns before anybody has work, all nodes name the same coordinator for it, and not one
// message is sent for that.
func TestNobodyVotes(t *testing.T) {
	t.Parallel()
	told, _ := worldtest.Tell(t, committee.Simulator(), "sender-behind", "")
	_, events, _ := strings.Cut(told, "late n1")
	before, _, is := strings.Cut(events, "has stored intent 0")
	if named := strings.Count(before, "is in range 1, which names node-2"); !is || named != 3 || strings.Count(before, "is in range") != 3 {
		t.Errorf("want three nodes that name node-2 for range 1 before there is an intent:\n%s", before)
	}
	if strings.Contains(before, " to ") {
		t.Errorf("a message was sent before there was an intent:\n%s", before)
	}
}

// P41: of an intent that goes straight to its end, its owner stores its row, the grant, that it was dispatched, and how it
// ended; its coordinator stores the dispatch, that the owner knows, and that it is over. Nothing else is stored but what
// each node keeps of the contract's states.
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	if _, r := worldtest.Tell(t, committee.Simulator(), "happy-path", ""); r.Stats["commits"] != 4+3 {
		t.Errorf("%d commits, want 4 of the owner and 3 of the coordinator", r.Stats["commits"])
	}
}

// P20: a switch costs what is in flight about a block, so the longer the ranges are the less it matters.
func TestLongRangesMakeTheDipMatterLess(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	seeds := worldtest.Enough[uint64](1, 1, 4)
	mean := func(blocks uint64) (all int64) {
		for seed := range seeds {
			r := committee.Run(committee.Config{Seed: seed + 1, Calm: true, Intents: 1000, Faults: 100 * time.Second, Range: blocks})
			worldtest.Clean(t, r)
			all += r.Stats["took_mean_ms"]
		}
		return all / int64(seeds)
	}
	short, long, never := mean(4), mean(16), mean(1000)
	t.Logf("ranges of 4 blocks: %d ms on average, of 16: %d ms, without a turn: %d ms", short, long, never)
	if short <= long || long <= never || short > never+1000 {
		t.Errorf("ranges of 4 blocks: %d ms on average, of 16: %d ms, without a turn: %d ms", short, long, never)
	}
}
