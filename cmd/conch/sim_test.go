package main_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
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

// alike simulates twice with equal flags, which give equal runs without a violation.
func alike(t *testing.T, flags string, nodes int) simReport {
	t.Helper()
	args := append(strings.Fields("sim "+flags), "--nodes", strconv.Itoa(nodes), "--seed", "7", "--json")
	first := conch(t, args...)
	if again := conch(t, args...); again.out != first.out {
		t.Errorf("equal flags gave\n%s and\n%s, want the same", first.out, again.out)
	}
	object := decode[map[string]any](t, first.out)
	wantKeys(t, object, "seed", "nodes", "steps", "violations", "stats")
	if object["violations"] == nil {
		t.Error("violations is null rather than empty")
	}
	r := decode[simReport](t, first.done(t))
	if r.Seed != 7 || r.Nodes != nodes || r.Steps == 0 || len(r.Violations) != 0 {
		t.Errorf("sim prints %+v, want seed 7, %d nodes, steps and no violations", r, nodes)
	}
	return r
}

// shownAgain simulates without a rule: the printed command shows the same violation again.
func shownAgain(t *testing.T, kind, rule string, flags ...string) simReport {
	t.Helper()
	broken := conch(t, append([]string{"sim", kind, "--break", rule, "--json"}, flags...)...)
	r := decode[simReport](t, broken.out)
	if broken.code != 1 || len(r.Violations) == 0 || !strings.Contains(broken.err, "see it again with: conch-lab sim "+kind+" ") {
		t.Fatalf("exit code %d, %d violations, stderr %s; want 1, some, and a command to repeat it", broken.code, len(r.Violations), broken.err)
	}
	v := r.Violations[0]
	replay := conch(t, append(strings.Fields(v.Replay)[1:], "--json")...)
	again := decode[simReport](t, replay.out).Violations
	if replay.code != 1 || len(again) == 0 || again[0].Invariant != v.Invariant || again[0].Step != v.Step {
		t.Errorf("%s shows %+v, want %+v", v.Replay, again, v)
	}
	return r
}

// narrates wants what a simulation prints to have some parts.
func narrates(t *testing.T, flags string, parts ...string) {
	t.Helper()
	story := conch(t, strings.Fields("sim "+flags)...).done(t)
	for _, want := range parts {
		if !strings.Contains(story, want) {
			t.Errorf("sim %s lacks %q:\n%s", flags, want, story)
		}
	}
}

func TestSimElection(t *testing.T) {
	t.Parallel()
	alike(t, "election", 4)
	narrates(t, "election --seed 7", "no invariant was violated")
}

// Without a rule there are violations, and the printed command shows the same one again.
func TestSimShowsWhatARuleIsFor(t *testing.T) {
	t.Parallel()
	r := shownAgain(t, "election", "strict", "--runs", "200")
	if r.Stats["runs"] != 200 || r.Stats["violating_runs"] == 0 || len(r.Violations) > 20 {
		t.Errorf("200 runs without a rule: %d violations, stats %v; want 1 to 20 listed", len(r.Violations), r.Stats)
	}
}

// With --break alone, sim chooses the takeover, nodes, locks and leases in which a violation
// shows. If none can show, it does not say that the rule held.
func TestSimBreakAlone(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for rule, world := range map[string]string{
		"hold-own-lease":        "--unequal-leases",
		"fast-waits-to-promise": "--takeover mixed",
		"connect-again":         "--nodes 1",
		"tombstone":             "--locks process",
		"advance-waits":         "--nodes 3 ",
		"answers-waited":        "--takeover strict",
		"dead-is-parted":        "--nodes 1",

		"farewell-waits-for-nobody": "--scopes 2",
	} {
		if r := conch(t, "sim", "election", "--runs", "200", "--break", rule); r.code != 1 || !strings.Contains(r.err, world) {
			t.Errorf("--break %s: exit code %d, stderr %s; want 1 and the world in the command", rule, r.code, r.err)
		}
	}
	for rule, says := range map[string]string{
		"late-farewell-buries": "no invariant was violated, and none need be: a machine asks nothing",
		"epoch-jumps":          "without epoch-jumps epochs can be: look at more, say --runs 2000, and leave --scene out if you gave one",
	} {
		if table := conch(t, "sim", "election", "--steps", "1", "--break", rule).done(t); !strings.Contains(table, says) {
			t.Errorf("--break %s prints %q, want why no violation shows", rule, table)
		}
	}
}

// Over several runs, the narrowest gap is the minimum of the runs, and the time to settle the
// maximum; neither is a sum.
func TestSimStatsOfSeveralRuns(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const runs = 8
	narrow, settled, mints := []int64{}, []int64{}, int64(0)
	for seed := range runs {
		stats := decode[simReport](t, conch(t, "sim", "election", "--seed", strconv.Itoa(seed), "--json").done(t)).Stats
		if gap, ok := stats["narrowest_gap_us"]; ok {
			narrow = append(narrow, gap)
		}
		settled = append(settled, stats["settled_ms"])
		mints += stats["mints"]
	}
	if len(narrow) < 2 {
		t.Fatalf("%d worlds had a gap between two gates, want 2 or more", len(narrow))
	}
	all := decode[simReport](t, conch(t, "sim", "election", "--seed", "0", "--runs", strconv.Itoa(runs), "--json").done(t)).Stats
	if got, want := all["narrowest_gap_us"], slices.Min(narrow); got != want {
		t.Errorf("the narrowest gap is %d, want the minimum of %v", got, narrow)
	}
	if got, want := all["settled_ms"], slices.Max(settled); got != want {
		t.Errorf("it took %d ms to settle, want the maximum of %v", got, settled)
	}
	if all["mints"] != mints {
		t.Errorf("%d mints, want the sum %d", all["mints"], mints)
	}
}

func TestSimUsage(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"sim":                            "sim needs one of election, sequencer, gossip",
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

		"sim election --break fast-waits-to-promise --takeover strict": "it needs --takeover mixed",
		"sim election --break hold-waits --takeover fast":              "it needs --takeover strict",
		"sim election --break tombstone --locks session":               "it needs --locks process",
		"sim election --break hold-stored --unequal-leases=false":      "it needs --unequal-leases",
	} {
		conch(t, strings.Fields(args)...).refused(t, 2, says)
	}
}
