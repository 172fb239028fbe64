//go:build !race

package lab_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched/patchedtest"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/txlog/quorum/quorumtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What --break leaves out shows with no other flag, for each rule of the log and of the sequencer, in the invariant that it is for. The
// report has the seed that was run. Each run has one goroutine, so the race detector would find nothing. By day the first rule of each
// shows how the command says it.
func TestBrokenRulesShow(t *testing.T) {
	t.Parallel()
	show(t, quorumtest.Simulator())
	show(t, sequencertest.Simulator())
}

func show[C, P any](t *testing.T, s world.Simulator[C, P]) {
	t.Helper()
	for i, rule := range s.Rules {
		t.Run(s.Name+"/"+rule.Name, func(t *testing.T) {
			if i > 0 {
				worldtest.Whole(t)
			}
			t.Parallel()
			if patchedtest.Elsewhere(t, rule.Name) {
				return
			}
			var c C
			*s.Common(&c).Break = rule.Name
			c = s.Complete(c)
			shows(t, s.Name, rule.Name, rule.Invariant, *s.Common(&c).Seed)
		})
	}
}

func shows(t *testing.T, name, rule, invariant string, seed uint64) {
	t.Helper()
	var out, said bytes.Buffer
	system := cli.World{Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &said, Getenv: func(string) string { return "" }}
	code := cli.Main([]string{"sim", name, "--break", rule, "--json"}, system, lab.Program(cli.Build{}, nil))
	var r world.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said.String())
	}
	if code != 1 || !r.Has(invariant) || r.Seed != seed {
		t.Errorf("exit code %d, seed %d, violations %+v; want 1, %d, and one of %s", code, r.Seed, r.Violations, seed, invariant)
	}
}
