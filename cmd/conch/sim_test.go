package main_test

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
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

// Equal flags give equal runs, a small crowd is told, and a broken rule prints the command that shows it again.
func TestSimGossip(t *testing.T) {
	t.Parallel()
	r := alike(t, "gossip --electors 5 --rounds 100 --loss 5", 12)
	if r.Stats["agreements"] == 0 || r.Stats["bytes"] == 0 {
		t.Errorf("sim prints %+v, want agreements", r)
	}
	for _, figure := range []string{
		"agreements", "agreement_tenths_max", "needless_reigns", "without_leader_tenths", "two_leaders_tenths", "messages", "bytes", "overlay_bytes",
	} {
		if _, is := r.Stats[figure]; !is {
			t.Errorf("the report lacks %s: %v", figure, r.Stats)
		}
	}
	narrates(t, "gossip --story leader-killed", "leads, reign 1", "dies", "leads, reign 2", "no invariant was violated")
	shownAgain(t, "gossip", "own-signature")
	// Without a seed it says which one it has taken, and several runs begin with it.
	for flags, want := range map[string]uint64{"--nodes 3 --scene cold": 1, "--nodes 3 --scene cold --runs 2": 1} {
		said := conch(t, append(strings.Fields("sim gossip --json --rounds 100 "), strings.Fields(flags)...)...)
		if r := decode[simReport](t, said.out); r.Seed != want {
			t.Errorf("%s says that its seed is %d, want %d", flags, r.Seed, want)
		}
	}
	one, two, both := int64(0), int64(0), int64(0)
	for flags, messages := range map[string]*int64{"--seed 1": &one, "--seed 2": &two, "--runs 2": &both} {
		args := append(strings.Fields("sim gossip --json --rounds 100 --nodes 3 --scene cold"), strings.Fields(flags)...)
		*messages = decode[simReport](t, conch(t, args...).done(t)).Stats["messages"]
	}
	if one+two != both {
		t.Errorf("two runs have %d messages, and those with the seeds 1 and 2 have %d and %d", both, one, two)
	}
	conch(t, "sim", "gossip", "--policy", "vote").refused(t, 2, `no policy "vote"`, "reign", "paper")
	for flags, want := range map[string]string{
		"--nodes 5001": "1 to 5,000", "--electors 9 --nodes 5": "9 electors of 5", "--scene heaven": "there is no scene", "--break nothing": "there is no rule",
		"--runs 0": "--runs must be 1 or more", "--trace --runs 2": "--trace shows one run",
	} {
		conch(t, append([]string{"sim", "gossip"}, strings.Fields(flags)...)...).refused(t, 2, want)
	}
}

// Equal flags give equal runs, one run is told, and a broken rule prints the command that shows it again.
func TestSimLog(t *testing.T) {
	t.Parallel()
	r := alike(t, "log --members 3 --faults 10s --loss 5", 5)
	if r.Stats["acknowledged"] == 0 || r.Stats["leaders"] == 0 {
		t.Errorf("sim prints %+v, want acknowledged goals and leaders", r)
	}
	narrates(t, "log --story same-answer", "leads in term 2", "dies there", "once more", "expect answer entry 2,", "no invariant was violated")
	narrates(t, "txlog --scene lost-majority", "conch log recover")
	shownAgain(t, "log", "hold")
	for flags, want := range map[string]string{
		"--nodes 61": "1 to 60", "--members 4 --nodes 3": "4 members of 3", "--scene heaven": "there is no scene", "--break nothing": "there is no rule",
		"--runs 0": "--runs must be 1 or more", "--trace --runs 2": "--trace shows one run",
	} {
		conch(t, append([]string{"sim", "log"}, strings.Fields(flags)...)...).refused(t, 2, want)
	}
}

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

// rest returns the lines that a program prints until it ends.
func rest(t *testing.T, p *proctest.Process) string {
	t.Helper()
	var said strings.Builder
	late := time.After(longPatience)
	for {
		select {
		case line, more := <-p.Lines:
			if !more {
				return said.String()
			}
			said.WriteString(line + "\n")
		case <-late:
			t.Fatalf("%s goes on after a signal, and has said %q", p, said.String())
		}
	}
}

// A signal ends each simulator, between runs and within a run or a story that has no end: the command prints what there was, says that it
// was interrupted, and fails.
func TestASimulationIsInterrupted(t *testing.T) {
	t.Parallel()
	for line, c := range map[string]struct {
		when string // it says, before the signal
		by   syscall.Signal
		had  string // it prints after that
	}{
		"election --runs 1000000000":                                    {" of 1000000000 runs", syscall.SIGTERM, " of 1000000000 runs from seed 1 "},
		"gossip --runs 1000000000 --nodes 3 --rounds 50":                {" of 1000000000 runs", syscall.SIGINT, " of 1000000000 runs from seed 1 "},
		"log --runs 1000000000 --nodes 3 --faults 1s":                   {" of 1000000000 runs", syscall.SIGTERM, " of 1000000000 runs from seed 1 "},
		"schedule --runs 1000000000 --hours 1":                          {" of 1000000000 runs", syscall.SIGINT, " of 1000000000 runs from seed 1 "},
		"sequencer --runs 1000000000 --nodes 3 --intents 5 --faults 1s": {" of 1000000000 runs", syscall.SIGTERM, " of 1000000000 runs from seed 1 "},
		"gossip --nodes 5 --rounds 1000000000":                          {"leads", syscall.SIGTERM, ""},
		"election --story -":                                            {"starts", syscall.SIGINT, ""},
		"log --story -":                                                 {"leads", syscall.SIGTERM, ""},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := prepared(t, append([]string{"sim"}, strings.Fields(line)...)...)
			cmd.Stdin = strings.NewReader("nodes 3\nrun 10000000s\n")
			var p *proctest.Process
			started := make(chan struct{})
			cmd.Stderr = proctest.Cut(func(line string) {
				<-started
				p.Lines <- line
			})
			p = proctest.Listen(t, cmd)
			close(started)
			p.Says(longPatience, c.when)
			p.Signal(c.by)
			said := rest(t, p)
			if code := p.Wait(longPatience); code != 1 || !strings.Contains(said, "conch-lab: interrupted\n") || !strings.Contains(said, c.had) {
				t.Errorf("it ends with code %d and says %q, want 1, %q, and that it was interrupted", code, said, c.had)
			}
		})
	}
}
