//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	Chain                         *chainVerdict
}

type chainVerdict struct {
	Intents, Done, Missing, Twice int
	NonceGaps                     int `json:"nonce_gaps"`
}

// withDevnode is a demo that is told where the chain's program is, which is built before
// the demo's time runs.
func withDevnode(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	chain := devnodeProgram(t)
	cmd := prepared(t, append([]string{"demo"}, args...)...)
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE="+chain)
	return cmd
}

// withoutDevnode hides it, wherever it may be installed.
func withoutDevnode(cmd *exec.Cmd) *exec.Cmd {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "conch-devnode"))
		return err == nil
	})
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE=", "PATH="+strings.Join(dirs, string(os.PathListSeparator)))
	return cmd
}

// Leaders of the work and senders of transactions are killed in turn, and the chain
// says that every acknowledged intent was done once. (S15, S19, S20, S23, S26, F4)
func TestDemo(t *testing.T) {
	t.Parallel()
	cmd := withDevnode(t, "--nodes", "3", "--duration", "12s", "--kill-every", "3s", "--lease", "1s", "--json")
	scratch := t.TempDir()
	// Settings of the caller's own must not lead the nodes astray.
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1", "CONCH_DB_TLS_CA_FILE=/nowhere",
		"CONCH_LEADER_ENABLED=false", "CONCH_INSTANCE_ID=somebody")
	r := call(t, cmd)
	out := r.done(t)
	if strings.Count(out, "\n") != 1 {
		t.Errorf("stdout holds more than the verdict: %q", out)
	}
	keys := decode[map[string]any](t, out)
	wantKeys(t, keys, "acts", "kills", "leaders", "failover_ms", "act_door_ms", "overlapping", "lost", "duplicated", "chain")
	if len(keys) != 9 {
		t.Errorf("the verdict has %d keys: %s", len(keys), out)
	}
	wantKeys(t, keys["failover_ms"].(map[string]any), "p50", "p99", "max")
	chain := keys["chain"].(map[string]any)
	wantKeys(t, chain, "intents", "done", "missing", "twice", "nonce_gaps")
	if len(chain) != 5 {
		t.Errorf("of the chain it has %d keys: %s", len(chain), out)
	}
	v := decode[verdict](t, out)
	switch c := v.Chain; {
	case v.Overlapping+v.Lost+v.Duplicated != 0 || c.Missing+c.Twice+c.NonceGaps != 0 || c.Done != c.Intents:
		t.Errorf("verdict %s", out)
	case v.Kills < 2 || v.Leaders < 3 || v.Acts < 100 || c.Intents < 5: // of the work and of the account one each, on a busy machine
		t.Errorf("too little happened: %s", out)
	case v.Failover.Max <= 0 || v.ActDoor.P50 < 900: // no door opens before the lease of who was killed is over
		t.Errorf("times that cannot be: %s", out)
	}
	for _, part := range []string{"kill -9 node-", "its first transaction was stored"} {
		if !strings.Contains(r.err, part) {
			t.Errorf("progress does not say %q: %q", part, r.err)
		}
	}
	if strings.Contains(r.err, "\x1b") {
		t.Errorf("progress as plain lines is missing: %q", r.err)
	}
	tellsNoSecret(t, r.err+out)
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
	cmd := withDevnode(t, "--nodes", "2", "--kill-every", "1500ms", "--lease", "500ms")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	d := start(t, cmd)
	d.says("its first transaction was stored")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	d.says("overlapping          0")
	d.says("nobody acted beside another, nothing was lost, nothing was done twice.")
	d.says("each is in the chain once")
	if code := d.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	leavesNothing(t, scratch)
}

func TestDemoThatShowedNothingFails(t *testing.T) {
	t.Parallel()
	d := start(t, withoutDevnode(prepared(t, "demo", "--nodes", "1", "--kill-every", "20s")))
	d.says("leads")
	if code := d.stop(syscall.SIGTERM); code != 1 {
		t.Errorf("exit code %d though nobody was killed", code)
	}
}

// Without its program, or by request, there is no chain and nothing is said of one.
func TestDemoWithoutAChain(t *testing.T) {
	t.Parallel()
	args := []string{"--nodes", "1", "--duration", "1s", "--kill-every", "0", "--json"}
	missing := call(t, withoutDevnode(prepared(t, append([]string{"demo"}, args...)...)))
	asked := call(t, withDevnode(t, append(args, "--no-chain")...))
	for _, r := range []result{missing, asked} {
		if keys := decode[map[string]any](t, r.done(t)); keys["chain"] != nil || len(keys) != 8 {
			t.Errorf("the verdict is %s", r.out)
		}
	}
	const says = "TRANSACTIONS ARE LEFT OUT: conch-devnode is neither beside this program nor on the PATH"
	if !strings.HasPrefix(missing.err, says) || !strings.Contains(missing.err, "make build") || strings.Contains(asked.err, "LEFT OUT") {
		t.Errorf("said %q and %q", missing.err, asked.err)
	}
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
