package main_test

import (
	"strings"
	"testing"
)

// Equal flags give equal runs, one run is told, and a broken rule prints the command that shows it again.
func TestSimLog(t *testing.T) {
	t.Parallel()
	args := []string{"sim", "log", "--nodes", "5", "--members", "3", "--seed", "7", "--faults", "10s", "--loss", "5", "--json"}
	first := conch(t, args...)
	args[1] = "txlog" // its other name
	if again := conch(t, args...); again.out != first.out {
		t.Errorf("equal flags gave\n%s and\n%s, want the same", first.out, again.out)
	}
	r := decode[simReport](t, first.done(t))
	if r.Seed != 7 || r.Nodes != 5 || len(r.Violations) != 0 || r.Stats["acknowledged"] == 0 || r.Stats["leaders"] == 0 {
		t.Errorf("sim prints %+v, want seed 7, 5 nodes, acknowledged goals, leaders and no violations", r)
	}
	story := conch(t, "sim", "log", "--story", "same-answer").done(t)
	for _, want := range []string{"leads in term 2", "dies there", "once more", "expect answer entry 2,", "no invariant was violated"} {
		if !strings.Contains(story, want) {
			t.Errorf("the story lacks %q:\n%s", want, story)
		}
	}
	stopped := conch(t, "sim", "log", "--scene", "lost-majority").done(t)
	if !strings.Contains(stopped, "conch log recover") {
		t.Errorf("nobody says which command begins a new lineage:\n%s", stopped)
	}
	broken := conch(t, "sim", "log", "--break", "hold", "--json")
	v := decode[simReport](t, broken.out).Violations
	if broken.code != 1 || len(v) == 0 || !strings.Contains(broken.err, "see it again with: conch-lab sim log ") {
		t.Fatalf("exit code %d, %d violations, stderr %s; want 1, some, and a command to repeat it", broken.code, len(v), broken.err)
	}
	replay := conch(t, append(strings.Fields(v[0].Replay)[1:], "--json")...)
	if again := decode[simReport](t, replay.out); replay.code != 1 || len(again.Violations) == 0 || again.Violations[0].Step != v[0].Step {
		t.Errorf("%s shows %+v, want %+v", v[0].Replay, again.Violations, v[0])
	}
	for flags, want := range map[string]string{
		"--nodes 61": "1 to 60", "--members 4 --nodes 3": "4 members of 3", "--scene heaven": "there is no scene", "--break nothing": "there is no rule",
		"--runs 0": "--runs must be 1 or more", "--trace --runs 2": "--trace shows one run",
	} {
		conch(t, append([]string{"sim", "log"}, strings.Fields(flags)...)...).refused(t, 2, want)
	}
}
