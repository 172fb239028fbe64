package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

func TestChaos(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cmd := prepared(t, "chaos", "--faults", "3", "--seed", "5", "--only", "kill9", "--only", "rst", "--json")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1", "CONCH_DB_TLS_CA_FILE=/nowhere")
	r := call(t, cmd)
	out := r.out
	if strings.Count(out, "\n") != 1 {
		t.Errorf("stdout is %q, want the report in one line", out)
	}
	keys := decode[map[string]any](t, out)
	wantKeys(t, keys, "faults", "acts", "violations", "unavailable_ms", "act_door_ms", "children_ms", "seed", "leaders", "frozen_writes", "seconds", "replay")
	report := decode[struct {
		Faults      map[string]int
		Acts        int
		Violations  []struct{ Invariant string }
		Unavailable map[string]map[string]float64 `json:"unavailable_ms"`
		Seed        uint64
		Replay      string
	}](t, out)
	violations := len(report.Violations)
	unsafe := slices.DeleteFunc(report.Violations, func(v struct{ Invariant string }) bool {
		return v.Invariant == "led-in-time" // how long it takes is a matter of this machine's load
	})
	switch {
	case len(unsafe) > 0 || report.Violations == nil: // null is no list
		t.Errorf("the report is %s, want an empty list of violations", out)
	case r.code != min(1, violations):
		t.Errorf("exit code %d with %d violations, want 1 if there is one; stderr %s", r.code, violations, r.err)
	case report.Faults["kill9"]+report.Faults["rst"] != 3 || report.Acts < 100 || report.Seed != 5:
		t.Errorf("the report is %s, want 3 faults, 100 acts or more and seed 5", out)
	case report.Replay != "conch-lab chaos --faults 3 --seed 5 --nodes 3 --lease 1s --only kill9 --only rst":
		t.Errorf("the replay line is %q, want that of these flags", report.Replay)
	}
	for _, spread := range report.Unavailable {
		if spread["max"] <= 0 || spread["p50"] > spread["max"] {
			t.Errorf("the report is %s, want times above 0 and p50 up to max", out)
		}
	}
	if !strings.Contains(r.err, "[3/3]") || strings.Contains(r.err, "\x1b") {
		t.Errorf("stderr is %q, want progress as plain lines", r.err)
	}
	leavesNothing(t, scratch)
}

// Acts that overlap, as the takeover fast allows, are reported with exit code 1.
func TestChaosFails(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cmd := prepared(t, "chaos", "--faults", "2", "--seed", "2", "--takeover", "fast", "--only", "deaf")
	r := call(t, cmd)
	if r.code != 1 || !strings.Contains(r.out, "violated: one-") || !strings.Contains(r.err, "--seed 2 --nodes 3 --lease 1s --takeover fast --only deaf") {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 1, a violation and the line to replay it", r.code, r.out, r.err)
	}
}

// A child that ends when asked would hide a keeper that never kills.
func TestAChildOfChaosHasToBeKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := prepared(t, "chaos-child", "--dir", dir)
	cmd.Env = append(cmd.Env, "CONCH_EPOCH=1", "CONCH_TERM=t", "CONCH_ID=node-1")
	c := start(t, cmd)
	acts := func() int {
		all, err := evidence.ReadActs(filepath.Join(dir, "children.acts"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	pgtest.Eventually(t, patience, "its first act", func() bool { return acts() > 0 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	asked := acts()
	pgtest.Eventually(t, patience, "acts of a child that was asked to end", func() bool { return acts() > asked+20 })
	c.stop(syscall.SIGKILL)
}
