//go:build unix

package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// gossipVerdict is the document of conch demo --gossip --json.
type gossipVerdict struct {
	Nodes, Electors, Kills, Crashed, Partitions, News, Heard, Lost, Doubled, Deposed int

	Log *struct {
		Goals, Entries, Lost, Doubled, Unanswered, Copies int

		Kills    int    `json:"leaders_killed"`
		Again    spread `json:"again_ms"`
		Wiped    int    `json:"disks_lost"`
		Admitted spread `json:"admitted_ms"`
		Joined   spread `json:"joined_ms"`
		Index    int
		Equal    bool
	}
	World *struct {
		Goals, Lost, Doubled, Unanswered, Copies int

		Equal bool
	}
	Replaced   spread  `json:"replaced_ms"`
	Late       float64 `json:"late_ms"`
	Leader     string
	Violations []string
}

// B18, B19: twelve real agents name one leader. It is killed, others are killed with it, and the network is cut: all
// that live name another, the side without a majority of the electors names nobody, and each piece of news is heard once.
// B13, B14, B20, V7: they have a log, under load all the while. Its leader is killed, a member loses its disk, and a node joins that
// has nothing: each goal that was acknowledged is in the log once, and all thirteen copies are equal. B22: so is each of a log in Prolog beside it.
//
// It is not parallel: beside other tests of real processes, two processors keep a leader that works from its word for longer than a
// heartbeat counts, and it is rightly replaced.
func TestDemoOfGossip(t *testing.T) { //nolint:paralleltest // see above
	runtest.LongRun(t)
	cmd := prepared(t, "demo", "--gossip", "--nodes", "12", "--duration", "1s", "--seed", "3", "--json")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGHOST=127.0.0.1", "CONCH_INSTANCE_ID=somebody", "CONCH_DB_URL=nowhere")
	r := callFor(t, building, cmd)
	v := decode[gossipVerdict](t, r.out)
	keys := decode[map[string]any](t, r.out)
	wantKeys(t, keys, "nodes", "electors", "cold_ms", "cold_rounds", "kills", "replaced_ms", "replaced_each", "crashed", "partitions", "silent_ms",
		"healed_ms", "news", "heard", "news_ms", "lost", "doubled", "deposed", "two_named_ms", "two_led_ms", "leader", "late_ms", "log", "world", "violations")
	if len(keys) != 24 || strings.Count(r.out, "\n") != 1 {
		t.Errorf("stdout is %q, want one document with 24 keys in one line", r.out)
	}
	cuts := 1
	if strings.Contains(r.err, "THE NETWORK IS NOT CUT") {
		cuts = 0
	}
	if v.Nodes != 12 || v.Electors != 7 || v.Kills < 2 || v.Kills+v.Crashed != 5 || v.Partitions != cuts || v.News < 10 || v.Heard < 20 || v.Replaced.Max <= 0 {
		t.Errorf("the verdict is %s, want each strike, and news: or this shows nothing", r.out)
	}
	wantKeys(t, keys["log"].(map[string]any), "goals", "took_ms", "entries", "leaders_killed", "again_ms", "disks_lost", "admitted_ms", "joined_ms", "lost", "doubled",
		"unanswered", "copies", "index", "equal")
	if l := v.Log; l.Goals < 40 || l.Entries <= l.Goals || l.Kills < 1 || l.Again.Max <= 0 || l.Wiped != 1 || l.Admitted.Max <= 0 || l.Joined.Max <= 0 ||
		l.Lost+l.Doubled+l.Unanswered > 0 || l.Copies != 13 || l.Index != l.Entries || !l.Equal {
		t.Errorf("of the log the verdict is %+v, want each strike, and thirteen copies that are equal", *l)
	}
	if w := v.World; w.Goals < 40 || w.Lost+w.Doubled+w.Unanswered > 0 || w.Copies != 13 || !w.Equal {
		t.Errorf("of the log in Prolog the verdict is %+v, want thirteen copies that are equal", *w)
	}
	violations := v.Violations
	if v.Late > 300 { // a machine that holds everybody up for longer than a heartbeat counts deposes leaders; what is not about time has no such excuse
		violations = slices.DeleteFunc(slices.Clone(violations), func(said string) bool {
			return strings.Contains(said, " led and worked, and at ") || strings.Contains(said, ", longer than a ")
		})
	}
	if v.Lost+v.Doubled > 0 || v.Leader == "" || len(violations) > 0 || (r.code != 0) != (len(v.Violations) > 0) {
		t.Errorf("exit code %d, the verdict is %s, and the progress %s; want no violations", r.code, r.out, r.err)
	}
	for _, part := range []string{"12 nodes start, the 7 electors last", "kill -9 n0", "which led", "a tenth of the nodes at once", "are back, and name", "no more strikes", "conch log tail flags", "export CONCH_NODE_URL=unix:" + scratch, "led the log", "is a member again", "n013 has all", "a fresh read at each of the 13 nodes counts ", "conch log verify world --node … for each of them: equal up to entry"} {
		if !strings.Contains(r.err, part) {
			t.Errorf("%q is not in the progress %q", part, r.err)
		}
	}
	if strings.Contains(r.err, "\x1b") {
		t.Errorf("the progress is %q, want plain lines", r.err)
	}
	leavesNothing(t, scratch)
}
