//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

type spread struct{ P50, P99, Max float64 }

type verdict struct {
	Acts, Kills, Leaders          int
	Failover                      spread `json:"failover_ms"`
	ActDoor                       spread `json:"act_door_ms"`
	Overlapping, Lost, Duplicated int
	Chain                         *chainVerdict
	Crons                         struct{ Times, Done, Missing, Twice int }
}

type chainVerdict struct {
	Intents, Done, Missing, Twice int
	NonceGaps                     int `json:"nonce_gaps"`
}

// withDevnode returns a demo with the path of conch-devnode, built before the demo's time runs.
func withDevnode(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	chain := devnodeProgram(t)
	cmd := prepared(t, append([]string{"demo"}, args...)...)
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE="+chain)
	return cmd
}

// withoutDevnode hides conch-devnode, wherever it may be installed.
func withoutDevnode(cmd *exec.Cmd) *exec.Cmd {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "conch-devnode"))
		return err == nil
	})
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE=", "PATH="+strings.Join(dirs, string(os.PathListSeparator)))
	return cmd
}

// Leaders of the work and senders of transactions are killed in turn, and by the chain every
// acknowledged intent is done once. (S15, S19, S20, S23, S26, F4, F11, F12, F13)
func TestDemo(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cmd := withDevnode(t, "--nodes", "3", "--duration", "12s", "--kill-every", "3s", "--lease", "1s", "--json")
	scratch := t.TempDir()
	// Settings of the caller must not affect the nodes.
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1", "CONCH_DB_TLS_CA_FILE=/nowhere",
		"CONCH_LEADER_ENABLED=false", "CONCH_INSTANCE_ID=somebody")
	r := call(t, cmd)
	out := r.done(t)
	if strings.Count(out, "\n") != 1 {
		t.Errorf("stdout is %q, want the verdict in one line", out)
	}
	keys := decode[map[string]any](t, out)
	wantKeys(t, keys, "acts", "kills", "leaders", "failover_ms", "act_door_ms", "overlapping", "lost", "duplicated", "chain", "crons")
	if len(keys) != 10 {
		t.Errorf("the verdict has %d keys, want 10: %s", len(keys), out)
	}
	wantKeys(t, keys["failover_ms"].(map[string]any), "p50", "p99", "max")
	chain := keys["chain"].(map[string]any)
	wantKeys(t, chain, "intents", "done", "missing", "twice", "nonce_gaps")
	if len(chain) != 5 {
		t.Errorf("the verdict on the chain has %d keys, want 5: %s", len(chain), out)
	}
	v := decode[verdict](t, out)
	switch c := v.Chain; {
	case v.Overlapping+v.Lost+v.Duplicated != 0 || c.Missing+c.Twice+c.NonceGaps != 0 || c.Done != c.Intents:
		t.Errorf("the verdict is %s, want no faults and all intents done", out)
	case v.Crons.Missing+v.Crons.Twice != 0 || v.Crons.Times < 6 || v.Crons.Done < 1:
		t.Errorf("the verdict is %s, want each scheduled time once, and some of them", out)
	case v.Kills < 2 || v.Leaders < 3 || v.Acts < 100 || c.Intents < 5: // on a busy machine one kill each, of work and account
		t.Errorf("too little happened: %s", out)
	case v.Failover.Max <= 0 || v.ActDoor.P50 < 900: // no act door opens before the lease of the killed leader is over
		t.Errorf("the verdict has impossible times: %s", out)
	}
	for _, part := range []string{"kill -9 node-", `leads "demo" (epoch `, `leads "payer" (epoch `, "its first transaction was stored"} {
		if !strings.Contains(r.err, part) {
			t.Errorf("%q is not in the progress %q", part, r.err)
		}
	}
	if strings.Contains(r.err, "\x1b") {
		t.Errorf("the progress is %q, want plain lines", r.err)
	}
	tellsNoSecret(t, r.err+out)
	leavesNothing(t, scratch)
}

// leavesNothing checks that a folder is empty.
func leavesNothing(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, error %v; want nothing", left, err)
	}
}

// experiment returns an experiment that writes to a folder of its own, with the path of conch-devnode. The folder has a short name, since
// there are sockets in it.
func experiment(t *testing.T, line string) (cmd *exec.Cmd, scratch string) {
	t.Helper()
	scratch, err := os.MkdirTemp("", "conch") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	cmd = prepared(t, strings.Fields(line)...)
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE="+devnodeProgram(t), "TMPDIR="+scratch)
	return cmd, scratch
}

// Ctrl-C ends each experiment early, with the verdict, and nothing is left. A demo has shown then what it shows, and a plan of faults was not
// carried out.
func TestExperimentsEndEarlyWithTheVerdict(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for line, c := range map[string]struct {
		when string
		says []string
		code int // -1: on a busy machine it is another one
	}{
		"demo --nodes 2 --kill-every 1500ms --lease 500ms": {"its first transaction was stored", []string{
			"overlapping          0", "nobody acted beside another, nothing was lost, nothing was done twice.", "each is in the chain once",
		}, 0},
		"demo --sequencer --kill-every 0 --listen=": {"payments flow from 5 organisations", []string{"By the ledger each of "}, 0},
		"demo --gossip --nodes 10":                  {"which led", []string{"leaders killed       1"}, -1},
		"chaos --faults 1000 --only stop-long":      {"[1/1000]", []string{"0 violations"}, 1}, // the second fault is under way
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(line, "chaos") && runtime.GOOS != "linux" {
				t.Skip("chaos is for Linux")
			}
			cmd, scratch := experiment(t, line)
			e := start(t, cmd)
			e.Says(longPatience, c.when)
			e.Signal(syscall.SIGINT)
			for _, text := range c.says {
				e.Says(building, text)
			}
			if code := e.end(); code != c.code && c.code >= 0 {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			leavesNothing(t, scratch)
		})
	}
}

func TestDemoThatShowedNothingFails(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	d := start(t, withoutDevnode(prepared(t, "demo", "--nodes", "1", "--kill-every", "20s")))
	d.says("leads")
	if code := d.stop(syscall.SIGTERM); code != 1 {
		t.Errorf("exit code %d although nobody was killed, want 1", code)
	}
}

// Without conch-devnode, or by request, the demo has no chain, and its verdict mentions none.
func TestDemoWithoutAChain(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	args := []string{"--nodes", "1", "--duration", "1s", "--kill-every", "0", "--json"}
	missing := call(t, withoutDevnode(prepared(t, append([]string{"demo"}, args...)...)))
	asked := call(t, withDevnode(t, append(args, "--no-chain")...))
	for _, r := range []result{missing, asked} {
		if keys := decode[map[string]any](t, r.done(t)); keys["chain"] != nil || len(keys) != 8 {
			t.Errorf("the verdict is %s, want 8 keys and no chain", r.out)
		}
	}
	const says = "TRANSACTIONS ARE LEFT OUT: conch-devnode is neither beside this program nor on the PATH"
	if !strings.HasPrefix(missing.err, says) || !strings.Contains(missing.err, "make build") || strings.Contains(asked.err, "LEFT OUT") {
		t.Errorf("without the program stderr is %q and with --no-chain %q, want a remedy in the first only", missing.err, asked.err)
	}
}

func TestDemoWithoutPostgres(t *testing.T) {
	t.Parallel()
	cmd := prepared(t, "demo")
	cmd.Env = append(cmd.Env, "CONCH_PG_BIN="+t.TempDir())
	call(t, cmd).refused(t, 2, "CONCH_PG_BIN", "initdb")
}

// A demo's node ends when its stdin is closed, and refuses bad flags.
func TestANodeEndsWithItsStdin(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	n := leader(t, db, "payments", "one")
	if code := n.end(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	cmd := prepared(t, "demo-node", "--db", db.URL, "--id", "a:b", "--dir", t.TempDir())
	call(t, cmd).refused(t, 2, "contains ':'")
	cmd = prepared(t, "demo-node", "--db", db.URL, "--id", "a", "--takeover", "maybe", "--dir", t.TempDir())
	if r := call(t, cmd); r.code == 0 {
		t.Error("exit code 0 for an unknown takeover, want an error")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal(fmt.Errorf("the program under test is gone: %w", err))
	}
}

// An experiment refuses flags that it has no use for, and what it cannot do, before it starts anything.
func TestExperimentsRefuseWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"demo --sequencer --nodes 3":                     {"five organisations", "--nodes"},
		"demo --sequencer --lease 1s":                    {"--lease"},
		"demo --sequencer --no-chain":                    {"needs a chain", "--no-chain"},
		"demo --sequencer --duration 0s":                 {"--duration"},
		"demo --sequencer --kill-every 1s":               {"--kill-every"},
		"demo --sequencer --kill-every -1s":              {"--kill-every"},
		"demo --sequencer --duration 5s --kill-every 5s": {"leaves no time"},
		"demo --sequencer --db " + nobodys:               {"leave --db out"},
		"demo --logs folder":                             {"--logs", "--sequencer"},
		"demo --gossip --nodes 9":                        {"--nodes 9", "between 10"},
		"demo --gossip --nodes 1001":                     {"--nodes"},
		"demo --gossip --duration 0s":                    {"--duration"},
		"demo --gossip --lease 1s":                       {"--lease"},
		"demo --gossip --kill-every 1s":                  {"--kill-every"},
		"demo --gossip --no-chain":                       {"--no-chain"},
		"demo --gossip --logs x":                         {"--logs"},
		"demo --gossip --listen 127.0.0.1:0":             {"--listen"},
		"demo --gossip --sequencer":                      {"two demos"},
		"demo --seed 3":                                  {"--seed", "--gossip"},
		"demo --gossip --db " + nobodys:                  {"leave --db out"},
		"chaos --sequencer --nodes 3":                    {"five organisations", "--nodes"},
		"chaos --sequencer --only kill9":                 {"--only"},
		"chaos --sequencer --faults 0":                   {"--faults 0"},
		"chaos --sequencer --intents -1":                 {"--intents -1"},
		"chaos --sequencer --db " + nobodys:              {"leave --db out"},
		"chaos --logs folder":                            {"--sequencer"},
		"chaos --intents 5":                              {"--sequencer"},
	} {
		conch(t, strings.Fields(line)...).refused(t, 2, want...)
	}
	call(t, withoutDevnode(prepared(t, "demo", "--sequencer"))).refused(t, 2, "conch-devnode", "make build")
	for command, examples := range map[string][]string{
		"demo":  {"conch demo --sequencer --duration", "conch demo --gossip --nodes"},
		"chaos": {"conch-lab chaos --sequencer --faults", "old-head"},
	} {
		text := conch(t, command, "--help").done(t)
		for _, part := range examples {
			if !strings.Contains(text, part) {
				t.Errorf("the help of %s does not show %q: %s", command, part, text)
			}
		}
	}
}

// sequencerVerdict is the document of conch demo --sequencer --json.
type sequencerVerdict struct {
	Accepted, Confirmed, Reverted, Kills, Pauses, Partitions, Landed, Twice, Lost, Untrue, Denied int

	Dispatch   spread `json:"dispatch_ms"`
	Conserved  bool
	Violations []string
}

// demoOfTheSequencer runs it, and returns the verdict, which has to be without violations.
func demoOfTheSequencer(t *testing.T, args ...string) (sequencerVerdict, result) {
	t.Helper()
	logs := t.TempDir()
	cmd := withDevnode(t, append([]string{"--sequencer", "--listen", "127.0.0.1:0", "--logs", logs, "--json"}, args...)...)
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1", "CONCH_DB_TLS_CA_FILE=/nowhere", "CONCH_INSTANCE_ID=somebody")
	r := callFor(t, building, cmd)
	out := r.done(t)
	v := decode[sequencerVerdict](t, out)
	keys := decode[map[string]any](t, out)
	wantKeys(t, keys, "accepted", "confirmed", "reverted", "kills", "pauses", "partitions", "landed", "skipped", "calm", "twice", "lost", "untrue", "denied", "dispatch_ms", "conserved", "violations")
	if len(keys) != 16 || strings.Count(out, "\n") != 1 {
		t.Errorf("stdout is %q, want one document with 16 keys in one line", out)
	}
	if v.Twice+v.Lost+v.Untrue+v.Denied != 0 || !v.Conserved || v.Violations == nil || len(v.Violations) > 0 || v.Accepted != v.Confirmed+v.Reverted || v.Landed != v.Confirmed {
		t.Errorf("the verdict is %s, want no violations, and everything ended", out)
	}
	tellsNoSecret(t, r.err+out)
	leavesNothing(t, scratch)
	if found, err := filepath.Glob(filepath.Join(logs, "*.log")); err != nil || len(found) != 5 {
		t.Errorf("the logs are %v, %v; want one for each organisation", found, err)
	}
	return v, r
}

// P28, P33, P38 to P43, I1 to I4: five organisations, each with its own process, database, account and identity, pay each
// other while nodes are killed, stopped and cut off; by the ledger nothing is lost, done twice or told wrongly.
// [TestChaosOfTheSequencer] is that with more faults.
func TestDemoOfTheSequencer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	v, r := demoOfTheSequencer(t, "--duration", "9s", "--kill-every", "2s")
	if v.Kills < 1 || v.Pauses < 1 || v.Partitions < 1 || v.Landed < 18 || v.Reverted < 1 {
		t.Errorf("the verdict is %+v, want each fault, payments and a cancellation: or this shows nothing", v)
	}
	for _, part := range []string{"kill -9 ", "is started again", "partition: ", "SIGSTOP ", "SIGCONT", "while it runs: conch contract list --node http://127.0.0.1:"} {
		if !strings.Contains(r.err, part) {
			t.Errorf("%q is not in the progress %q", part, r.err)
		}
	}
	if strings.Contains(r.err, "\x1b") {
		t.Errorf("the progress is %q, want plain lines", r.err)
	}
}
