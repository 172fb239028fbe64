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
	const flags = "sequencer --faults 20s --intents 15"
	r := alike(t, flags, 4)
	if r.Stats["confirmed"] == 0 {
		t.Errorf("sim prints %+v, want confirmed intents", r)
	}
	narrates(t, "sequencer --nodes 5 --seed 1 --faults 20s", "begins to coordinate, in range 0", "as confirmed, after", "no invariant was violated")
	rule := "signed-owner"
	if runtest.Whole() {
		rule = "sequence-per-intent" // another program leaves it out, which is built first
	}
	shownAgain(t, "sequencer", rule)
	ring := decode[simReport](t, conch(t, strings.Fields("sim "+flags+" --nodes 4 --seed 7 --policy ring --json")...).done(t))
	if len(ring.Violations) != 0 || ring.Stats["confirmed"] == 0 || ring.Steps == r.Steps {
		t.Errorf("with the ring sim prints %+v, want another run than without it, and no violations", ring)
	}
	conch(t, "sim", "sequencer", "--policy", "sticky").refused(t, 2, `ranked by "sticky"`, "rendezvous", "ring")
	if bad := conch(t, "sim", "sequencer", "--scene", "heaven"); bad.code != 2 || !strings.Contains(bad.err, "there is no scene") {
		t.Errorf("an unknown scene: exit code %d, stderr %s; want 2 and its name", bad.code, bad.err)
	}
}
