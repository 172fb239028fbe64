//go:build !race

package lab_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/ontologies"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/schedule/scheduletest"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// The page that teaches to write stories, and the list of their words.
const (
	page      = "../../../../docs/simulation.md"
	wordsPage = "../../../../internal/world/story/words.md"
)

// play runs conch-lab sim with a story on its standard input.
func play(in string, args ...string) (code int, out, said string) {
	var o, e bytes.Buffer
	system := cli.World{Stdin: strings.NewReader(in), Stdout: &o, Stderr: &e, Getenv: func(string) string { return "" }}
	code = cli.Main(append([]string{"sim"}, args...), system, lab.Program(cli.Build{}, nil))
	return code, o.String(), e.String()
}

// The list has the words of all worlds.
func TestTheWordsAreOnThePage(t *testing.T) {
	t.Parallel()
	worldtest.Page(t, wordsPage, "./cmd/conch/internal/lab",
		words(t, "words of alerts", alertstest.Simulator(), false), words(t, "words of every world", electiontest.Simulator(), true), words(t, "words of the election", electiontest.Simulator(), false),
		words(t, "words of gossip", gossiptest.Simulator(), false), words(t, "words of the log", ontologies.Simulator(), false), words(t, "words of the schedule", scheduletest.Simulator(), false),
		words(t, "words of the sequencer", sequencertest.Simulator(), false))
}

func words[C, P any](t *testing.T, name string, s world.Simulator[C, P], everywhere bool) worldtest.Part {
	t.Helper()
	text, err := s.Words(everywhere)
	if err != nil {
		t.Fatal(err)
	}
	return worldtest.Part{Name: name, Text: text}
}

// The example of the page is told as it says, from the standard input too, and what is told can be played again.
func TestThePagesExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```")
	at := slices.IndexFunc(blocks, func(b string) bool { return strings.HasPrefix(b, "text\n# Three nodes") })
	if at < 0 || len(blocks) < at+5 || !strings.HasPrefix(blocks[at+4], "text\n# Three nodes") {
		t.Fatal("the page has no story, and what is told of it")
	}
	written, want := strings.TrimPrefix(blocks[at], "text\n"), strings.TrimPrefix(blocks[at+4], "text\n")
	for _, in := range []string{written, want} {
		if code, out, said := play(in, "election", "--story", "-"); code != 0 || out != want {
			t.Errorf("exit code %d; the page says\n%s\nand it is told\n%s%s", code, want, out, said)
		}
	}
}

// Nothing else lists the scenes and rules of a world: the help of its command has each, with what falls without the rule.
func TestTheHelpHasScenesAndRules(t *testing.T) {
	t.Parallel()
	listed(t, alertstest.Simulator())
	listed(t, electiontest.Simulator())
	listed(t, gossiptest.Simulator())
	listed(t, ontologies.Simulator())
	listed(t, scheduletest.Simulator())
	listed(t, sequencertest.Simulator())
}

func listed[C, P any](t *testing.T, s world.Simulator[C, P]) {
	t.Helper()
	_, help, _ := play("", s.Name, "--help")
	for _, n := range s.Scenes {
		if !strings.Contains(help, "\n  "+n.Name+" ") || !strings.Contains(help, n.What) {
			t.Errorf("the help of %s does not say what the scene %s is", s.Name, n.Name)
		}
	}
	for _, r := range s.Rules {
		if !strings.Contains(help, "\n  "+r.Name+" ") || !strings.Contains(help, r.Why) || r.Invariant != "" && !strings.Contains(help, "(falls: "+r.Invariant+")") {
			t.Errorf("the help of %s does not say what the rule %s is for", s.Name, r.Name)
		}
	}
}

// A story that falls says where, and how to see it again; one that is written wrongly is not played.
func TestStoriesOfTheCommand(t *testing.T) {
	t.Parallel()
	code, out, said := play("", "election", "--story", "frozen-leader", "--break", "compare-at-use")
	if code != 1 || !strings.Contains(out, "violated: act-doors") || !strings.Contains(out, "conch-lab sim election --story frozen-leader --seed 1 --break compare-at-use\n") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	if code, out, said := play("nodes 3\nrun 2s\n", "election", "--story", "-", "--runs", "20"); code != 0 || !strings.Contains(out, "20 runs from seed 1") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	for want, args := range map[string][]string{
		`-:2: there is no word "freez": is it "freeze"?`: {"log", "--story", "-"},
		"leave --nodes out":            {"gossip", "--story", "partition", "--nodes", "9"},
		`is it the story "partition"?`: {"gossip", "--story", "partitoin"},
		`there is no rule "rules"`:     {"sequencer", "--story", "partition", "--break", "rules"},
		"--trace shows one run":        {"sequencer", "--story", "partition", "--trace", "--runs", "2"},
		"--runs must be 1 or more":     {"log", "--story", "partition", "--runs", "0"},
	} {
		code, out, said := play("nodes 3\nfreez n1\n", args...)
		if code != 2 || out != "" || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 2, and %s", args, code, out, said, want)
		}
	}
}
