//go:build !race

package lab_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/patched/patchedtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/committee"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What --break leaves out shows with no other flag, for each rule of the log and of the sequencer, in the invariant that it is for. The
// report has the seed that was run. Each run has one goroutine, so the race detector would find nothing.
func TestBrokenRulesShow(t *testing.T) {
	t.Parallel()
	for world, w := range map[string]struct {
		rules []sim.RuleInfo
		shows func(rule string) uint64
	}{
		"log":       {bulletin.Rules(), bulletin.Shows},
		"sequencer": {committee.Rules(), committee.Shows},
	} {
		for _, rule := range w.rules {
			t.Run(world+"/"+rule.Name, func(t *testing.T) {
				t.Parallel()
				if !patchedtest.Elsewhere(t, rule.Name) {
					shows(t, world, rule, w.shows(rule.Name))
				}
			})
		}
	}
}

func shows(t *testing.T, world string, rule sim.RuleInfo, seed uint64) {
	t.Helper()
	var out, said bytes.Buffer
	system := cli.World{Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &said, Getenv: func(string) string { return "" }}
	code := cli.Main([]string{"sim", world, "--break", rule.Name, "--json"}, system, cli.Build{}, nil, lab.Commands)
	var r sim.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said.String())
	}
	if code != 1 || !r.Has(rule.Invariant) || r.Seed != seed {
		t.Errorf("exit code %d, seed %d, violations %+v; want 1, %d, and one of %s", code, r.Seed, r.Violations, seed, rule.Invariant)
	}
}
