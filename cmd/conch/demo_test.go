//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

type spread struct{ P50, P99, Max float64 }

type verdict struct {
	Acts, Kills, Leaders          int
	Failover                      spread `json:"failover_ms"`
	ActDoor                       spread `json:"act_door_ms"`
	Overlapping, Lost, Duplicated int
}

func TestDemo(t *testing.T) {
	t.Parallel()
	cmd := prepared(t, "demo", "--nodes", "3", "--duration", "12s", "--kill-every", "3s", "--lease", "1s", "--json")
	scratch := t.TempDir()
	// Settings of the caller's own database must not lead the nodes astray.
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1", "CONCH_DB_TLS_CA_FILE=/nowhere")
	r := call(t, cmd)
	out := r.done(t)
	if strings.Count(out, "\n") != 1 {
		t.Errorf("stdout holds more than the verdict: %q", out)
	}
	keys := decode[map[string]any](t, out)
	wantKeys(t, keys, "acts", "kills", "leaders", "failover_ms", "act_door_ms", "overlapping", "lost", "duplicated")
	if len(keys) != 8 {
		t.Errorf("the verdict has %d keys: %s", len(keys), out)
	}
	wantKeys(t, keys["failover_ms"].(map[string]any), "p50", "p99", "max")
	v := decode[verdict](t, out)
	switch {
	case v.Overlapping+v.Lost+v.Duplicated != 0:
		t.Errorf("verdict %s", out)
	case v.Kills < 3 || v.Leaders < 4 || v.Acts < 500:
		t.Errorf("too little happened: %s", out)
	case v.Failover.Max <= 0 || v.Failover.Max > 3000 || v.ActDoor.P50 < 900:
		t.Errorf("times that can not be: %s", out)
	}
	if !strings.Contains(r.err, "kill -9 node-") || strings.Contains(r.err, "\x1b") {
		t.Errorf("progress as plain lines is missing: %q", r.err)
	}
	leavesNothing(t, scratch)
}

// leavesNothing checks that the demo's folder is gone.
func leavesNothing(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoEndsEarlyWithTheVerdict(t *testing.T) {
	t.Parallel()
	cmd := prepared(t, "demo", "--nodes", "2", "--kill-every", "1500ms", "--lease", "500ms")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	d := start(t, cmd)
	d.says("has committed")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	d.says("overlapping          0")
	d.says("nobody acted beside another, nothing was lost, nothing was done twice.")
	if code := d.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	leavesNothing(t, scratch)
}

func TestDemoThatShowedNothingFails(t *testing.T) {
	t.Parallel()
	d := start(t, prepared(t, "demo", "--nodes", "1", "--kill-every", "20s"))
	d.says("leads")
	if code := d.stop(syscall.SIGTERM); code != 1 {
		t.Errorf("exit code %d though nobody was killed", code)
	}
	conch(t, "demo", "--nodes", "1", "--duration", "1s", "--kill-every", "0").done(t)
}

func TestDemoWithoutPostgres(t *testing.T) {
	t.Parallel()
	cmd := prepared(t, "demo")
	cmd.Env = append(cmd.Env, "CONCH_PG_BIN="+t.TempDir())
	call(t, cmd).refused(t, 2, "CONCH_PG_BIN", "initdb")
}

// A node outlives neither its supervisor nor a database that goes away with it.
func TestANodeEndsWithItsStdin(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	n := leader(t, db, "payments", "one")
	if code := n.end(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	cmd := prepared(t, "demo-node", "--db", db.URL, "--id", "a:b", "--dir", t.TempDir())
	call(t, cmd).refused(t, 2, "contains ':'")
	cmd = prepared(t, "demo-node", "--db", db.URL, "--id", "a", "--takeover", "maybe", "--dir", t.TempDir())
	if r := call(t, cmd); r.code == 0 {
		t.Error("a takeover that is not went through")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal(fmt.Errorf("the program under test is gone: %w", err))
	}
}
