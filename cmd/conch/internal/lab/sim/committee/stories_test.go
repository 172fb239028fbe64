package committee_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/patched/patchedtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/committee"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the stories and the page of the sequencer anew")

// P7 to P19, P21 to P31, P35, P39, P40, P42 in a committee: the stories of document 002, message by message. Each is
// judged as every run is. With -update they are written anew: read the diff. By the words of the document means without the rule
// named-range.
func TestStories(t *testing.T) {
	t.Parallel()
	for _, name := range append(committee.Stories(), "sender-behind-strict", "old-behind-strict", "new-behind-strict") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := committee.Config{Seed: 1, Scene: name}
			if scene, strict := strings.CutSuffix(name, "-strict"); strict {
				whole(t)
				if cfg.Scene, cfg.Break = scene, "named-range"; patchedtest.Elsewhere(t, cfg.Break) {
					return
				}
			}
			var got bytes.Buffer
			cfg.Story = &got
			report(t, committee.Run(cfg))
			file := "testdata/" + name + ".txt"
			want, err := os.ReadFile(file)
			if err != nil && !*update {
				t.Fatal(err)
			}
			head := heading(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(head+got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if all := head + got.String(); all != string(want) {
				t.Errorf("%s is told otherwise (run with -update, then read the diff):\n%s", file, storytest.FirstDifference(string(want), all))
			}
		})
	}
}

// P5, I7: nobody votes. A range turns before anybody has work, all nodes name the same coordinator for it, and not one
// message is sent for that.
func TestNobodyVotes(t *testing.T) {
	t.Parallel()
	var story bytes.Buffer
	report(t, committee.Run(committee.Config{Seed: 1, Scene: "sender-behind", Story: &story}))
	before, _, is := strings.Cut(story.String(), "has stored intent 0")
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
	if got := committee.Run(committee.Config{Seed: 1, Scene: "happy-path"}).Stats["commits"]; got != 4+3 {
		t.Errorf("%d commits, want 4 of the owner and 3 of the coordinator", got)
	}
}

// P20: a switch costs what is in flight about a block, so the longer the ranges are the less it matters.
func TestLongRangesMakeTheDipMatterLess(t *testing.T) {
	whole(t)
	t.Parallel()
	seeds := uint64(1)
	if nightly() {
		seeds = 4
	}
	mean := func(blocks uint64) (all int64) {
		for seed := range seeds {
			r := committee.Run(committee.Config{Seed: seed + 1, Calm: true, Intents: 1000, Faults: 100 * time.Second, Range: blocks})
			report(t, r)
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

// heading returns the comments at the beginning of a story.
func heading(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
