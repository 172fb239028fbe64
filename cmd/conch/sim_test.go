package main_test

import (
	"strings"
	"testing"
)

type simReport struct {
	Seed         uint64
	Nodes, Steps int
	Violations   []struct {
		Invariant, Replay string
		Step              int
	}
	Stats map[string]int64
}

func TestSimElection(t *testing.T) {
	t.Parallel()
	args := []string{"sim", "election", "--nodes", "4", "--seed", "7", "--json"}
	first := conch(t, args...)
	if again := conch(t, args...); again.out != first.out {
		t.Errorf("equal flags gave\n%s and\n%s", first.out, again.out)
	}
	object := decode[map[string]any](t, first.out)
	wantKeys(t, object, "seed", "nodes", "steps", "violations", "stats")
	if object["violations"] == nil {
		t.Error("violations is null rather than empty")
	}
	r := decode[simReport](t, first.done(t))
	if r.Seed != 7 || r.Nodes != 4 || r.Steps == 0 || len(r.Violations) != 0 {
		t.Errorf("sim prints %+v", r)
	}
	if table := conch(t, "sim", "election", "--seed", "7").done(t); !strings.Contains(table, "no invariant was violated") {
		t.Errorf("the table is %q", table)
	}
}

// A rule that is left out must be missed, and the line that is printed must show
// the same violation again.
func TestSimShowsWhatARuleIsFor(t *testing.T) {
	t.Parallel()
	many := conch(t, "sim", "election", "--runs", "200", "--break", "strict", "--json")
	if many.code != 1 || !strings.Contains(many.err, "see it again with: conch sim election ") {
		t.Fatalf("exit code %d: %s", many.code, many.err)
	}
	r := decode[simReport](t, many.out)
	if r.Stats["runs"] != 200 || r.Stats["violating_runs"] == 0 || len(r.Violations) == 0 || len(r.Violations) > 20 {
		t.Fatalf("200 runs: %d violations, stats %v", len(r.Violations), r.Stats)
	}
	v := r.Violations[0]
	replay := conch(t, append(strings.Fields(v.Replay)[1:], "--json")...)
	again := decode[simReport](t, replay.out)
	if replay.code != 1 || len(again.Violations) == 0 || again.Violations[0].Invariant != v.Invariant || again.Violations[0].Step != v.Step {
		t.Errorf("%s shows %+v, want %+v", v.Replay, again.Violations, v)
	}
}

func TestSimUsage(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"sim":                            "sim needs what to simulate",
		"sim everything":                 `unknown command "everything"`,
		"sim election --nodes 0":         "must be 1 or more",
		"sim election --nodes 1000":      "1 to 50",
		"sim election --runs 0":          "must be 1 or more",
		"sim election --seed -1":         `--seed "-1" is not a whole number`,
		"sim election --break nothing":   `no rule "nothing" to break`,
		"sim election --takeover soft":   "none of strict, fast, keep",
		"sim election --trace --runs 2":  "--trace shows one run",
		"sim election --steps many":      "is not a whole number",
		"sim election --unequal-leases2": "unknown flag",
	} {
		conch(t, strings.Fields(args)...).refused(t, 2, says)
	}
}
