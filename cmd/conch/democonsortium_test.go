//go:build unix

package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

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
