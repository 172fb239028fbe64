//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// chaosVerdict is the document of conch-lab chaos --sequencer --json.
type chaosVerdict struct {
	sequencerVerdict

	Seed                       *uint64
	Faults                     map[string]int
	Restores, Forgotten, Again int
	Attack                     struct {
		Sent, Refused map[string]int
		Ahead         int
	}
}

// chaosOfTheSequencer runs it and returns the verdict. How soon others land something while a node is behind depends on
// this machine's load, so that alone is no failure here.
func chaosOfTheSequencer(t *testing.T, args ...string) (chaosVerdict, result) {
	t.Helper()
	logs, scratch := t.TempDir(), t.TempDir()
	cmd := prepared(t, append([]string{"chaos", "--sequencer", "--logs", logs, "--json"}, args...)...)
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE="+devnodeProgram(t), "TMPDIR="+scratch, "PGSERVICE=nowhere", "PGHOST=127.0.0.1")
	r := callFor(t, building, cmd)
	v := decode[chaosVerdict](t, r.out)
	serious := slices.DeleteFunc(slices.Clone(v.Violations), func(text string) bool {
		return strings.HasPrefix(text, "nothing of ") && strings.HasSuffix(text, "saw an old head")
	})
	if len(serious) > 0 || v.Twice+v.Lost+v.Untrue+v.Denied != 0 || !v.Conserved || r.code != min(1, len(v.Violations)) {
		t.Errorf("the verdict is %s with exit code %d, want no violations; stderr %s", r.out, r.code, r.err)
	}
	if v.Accepted != v.Confirmed+v.Reverted+v.Forgotten {
		t.Errorf("the verdict is %s, want that all has ended or was forgotten with a database", r.out)
	}
	for _, kind := range []string{"copied", "moved", "stolen", "revoked", "regranted"} {
		if v.Attack.Sent[kind] == 0 {
			t.Errorf("the attacker has sent %v, want all kinds", v.Attack.Sent)
		}
	}
	if v.Attack.Refused["not granted"] == 0 || v.Attack.Refused["not endorsed"] == 0 || v.Attack.Refused["not a member"] == 0 {
		t.Errorf("the attack was refused as %v, want it in blocks", v.Attack.Refused)
	}
	tellsNoSecret(t, r.err+r.out)
	leavesNothing(t, scratch)
	if found, err := filepath.Glob(filepath.Join(logs, "*.log")); err != nil || len(found) != 5 {
		t.Errorf("the logs are %v, %v; want one for each organisation", found, err)
	}
	return v, r
}

// Q3, Q5, Q10, Q18, P28, P33, P38 to P43, I1 to I4: a slice of the long run, and the attacker. Each kind of fault once.
func TestChaosOfTheSequencer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const faults, seed = 9, uint64(1)
	want := []string{"certificate", "restore", "old-head", "kill", "database", "partition", "pause", "reorg"}
	v, r := chaosOfTheSequencer(t, "--faults", strconv.Itoa(faults), "--seed", fmt.Sprint(seed))
	for _, kind := range want {
		if v.Faults[kind] != 1 {
			t.Errorf("the faults are %v, want once each of %v", v.Faults, want)
		}
	}
	if v.Faults["clock"] != 1 && !strings.Contains(r.err, "the clock of ") && !strings.Contains(r.err, "no clock is turned") {
		t.Errorf("the faults are %v, want a turned clock, or why there is none: %s", v.Faults, r.err)
	}
	if v.Seed == nil || *v.Seed != seed {
		t.Errorf("the verdict names the seed %v, want %d", v.Seed, seed)
	}
	if v.Restores != 1 || v.Landed < 2*faults {
		t.Errorf("the verdict is %+v, want a restored database, and payments: or this shows nothing", v)
	}
	replay := fmt.Sprintf("%[1]d faults of seed %[2]d; again with: conch-lab chaos --sequencer --faults %[1]d --seed %[2]d", faults, seed)
	for _, part := range []string{replay, "an attacker watches", "and its database copied", "sees no block after"} {
		if !strings.Contains(r.err, part) {
			t.Errorf("%q is not in the progress %q", part, r.err)
		}
	}
}

// A longer run: many payments on notes that all want, and all faults. make nightly has it, and after the tests one of 2,000.
func TestLongChaosOfTheSequencer(t *testing.T) {
	runtest.NightRun(t)
	t.Parallel()
	v, _ := chaosOfTheSequencer(t, "--faults", "60", "--intents", "1000")
	if v.Accepted < 1000 || v.Kills < 5 || v.Restores < 2 {
		t.Errorf("the verdict is %+v, want 1000 payments, and all faults", v)
	}
}
