package main_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// One run tells a newcomer what happened, equal flags give equal runs, and a broken rule prints the command that shows
// it again.
func TestSimSequencer(t *testing.T) {
	t.Parallel()
	args := []string{"sim", "sequencer", "--nodes", "4", "--seed", "7", "--faults", "20s", "--intents", "15", "--json"}
	first := conch(t, args...)
	if again := conch(t, args...); again.out != first.out {
		t.Errorf("equal flags gave\n%s and\n%s, want the same", first.out, again.out)
	}
	r := decode[simReport](t, first.done(t))
	if r.Seed != 7 || r.Nodes != 4 || len(r.Violations) != 0 || r.Stats["confirmed"] == 0 {
		t.Errorf("sim prints %+v, want seed 7, 4 nodes, confirmed intents and no violations", r)
	}
	story := conch(t, "sim", "sequencer", "--nodes", "5", "--seed", "1", "--faults", "20s").done(t)
	for _, want := range []string{"begins to coordinate, in range 0", "as confirmed, after", "no invariant was violated"} {
		if !strings.Contains(story, want) {
			t.Errorf("the story lacks %q:\n%s", want, story)
		}
	}
	rule := "signed-owner"
	if runtest.Whole() {
		rule = "sequence-per-intent" // another program leaves it out, which is built first
	}
	broken := conch(t, "sim", "sequencer", "--break", rule, "--json")
	v := decode[simReport](t, broken.out).Violations
	if broken.code != 1 || len(v) == 0 || !strings.Contains(broken.err, "see it again with: conch-lab sim sequencer ") {
		t.Fatalf("exit code %d, %d violations, stderr %s; want 1, some, and a command to repeat it", broken.code, len(v), broken.err)
	}
	replay := conch(t, append(strings.Fields(v[0].Replay)[1:], "--json")...)
	if again := decode[simReport](t, replay.out); replay.code != 1 || len(again.Violations) == 0 || again.Violations[0].Step != v[0].Step {
		t.Errorf("%s shows %+v, want %+v", v[0].Replay, again.Violations, v[0])
	}
	ring := decode[simReport](t, conch(t, append(args, "--policy", "ring")...).done(t))
	if len(ring.Violations) != 0 || ring.Stats["confirmed"] == 0 || ring.Steps == r.Steps {
		t.Errorf("with the ring sim prints %+v, want another run than without it, and no violations", ring)
	}
	conch(t, "sim", "sequencer", "--policy", "sticky").refused(t, 2, `ranked by "sticky"`, "rendezvous", "ring")
	if bad := conch(t, "sim", "sequencer", "--scene", "heaven"); bad.code != 2 || !strings.Contains(bad.err, "there is no scene") {
		t.Errorf("an unknown scene: exit code %d, stderr %s; want 2 and its name", bad.code, bad.err)
	}
}
