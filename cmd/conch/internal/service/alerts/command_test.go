package alerts

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// runs runs conch alerts, and returns what it prints.
func runs(t *testing.T, asJSON bool, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	kinds := []node.Kind{
		{Section: func() config.Section { return configtest.Plain("roles") }, Open: func(node.Frame) node.Service { return node.Plain{} }},
		Kind(),
	}
	cmd := Commands(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}, JSON: asJSON, Kinds: kinds})[0]
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// F9: check says what is wrong about alerts, and of nothing else in the file.
func TestCheckOfAFile(t *testing.T) {
	t.Parallel()
	path := fileOf(t, base+"[node]\nlisten = 7\n"+strings.ReplaceAll(seeds, "notify = ", "notify = [] #"))
	out, err := runs(t, false, "check", path)
	if err != nil || !strings.HasSuffix(out, path+": ok\n") || strings.Count(out, "warning: line") != 4 || strings.Contains(out, "listen") {
		t.Errorf("got %v and\n%s", err, out)
	}
	path = fileOf(t, base+seeds)
	out, err = runs(t, false, "check", path)
	if err == nil || !strings.Contains(err.Error(), "has 2 faults") || !strings.Contains(out, path+`: line 11, alerts[0].notify[0]: alert "no_scheduler_leader": there is no [[notify]] with the name "pagerduty": there is none`) {
		t.Errorf("got %v and\n%s", err, out)
	}
	out, err = runs(t, true, "check", path)
	var doc struct {
		OK               bool
		Faults, Warnings []config.Fault
	}
	if err == nil || json.Unmarshal([]byte(out), &doc) != nil || doc.OK || len(doc.Faults) != 2 || len(doc.Warnings) != 4 || doc.Faults[0].Line != 11 {
		t.Errorf("got %v and\n%s", err, out)
	}
	for text, want := range map[string]string{"[[alerts]\n": "line 1: this is not TOML", "[alerts]\n": "alerts: is one table"} {
		if out, err := runs(t, false, "check", fileOf(t, text)); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: got %v and %s", text, err, out)
		}
	}
	if _, err := runs(t, false, "check", filepath.Join(t.TempDir(), "none.toml")); err == nil || !strings.Contains(err.Error(), "there is no configuration") {
		t.Errorf("got %v", err)
	}
	if _, err := runs(t, false, "check", "a", "b"); err == nil || !strings.Contains(err.Error(), "takes one file") {
		t.Errorf("got %v", err)
	}
}

// The alerts of a file are listed with the built-in ones, and exported for a Prometheus; a file with a fault is neither.
func TestListAndExport(t *testing.T) {
	t.Parallel()
	path := fileOf(t, base+strings.ReplaceAll(seeds, "notify = ", "notify = [] #"))
	out, err := runs(t, false, "list", path)
	if err != nil || strings.Count(out, "\n") != len(Builtin())+3 || !strings.Contains(out, `no_scheduler_leader`) || !strings.Contains(out, `nobody`) || !strings.Contains(out, `sum(conch_is_leader{scope="scheduler"}) == 0`) {
		t.Errorf("got %v and\n%s", err, out)
	}
	out, err = runs(t, true, "list", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var one listed
	if err != nil || json.Unmarshal([]byte(lines[len(lines)-2]), &one) != nil || one.Name != "no_scheduler_leader" || one.For != "30s" || one.Builtin || one.Notify == nil || !strings.Contains(lines[0], `"notify":null`) {
		t.Errorf("got %v and\n%s", err, out)
	}
	if out, err = runs(t, false, "export"); err != nil || out != export(builtin().all) {
		t.Errorf("got %v and\n%s", err, out)
	}
	if out, err = runs(t, false, "export", path); err != nil || !strings.Contains(out, "- alert: \"no_scheduler_leader\"\n        expr: |-\n          sum(conch_is_leader{scope=\"scheduler\"}) == 0\n        for: 30s\n") {
		t.Errorf("got %v and\n%s", err, out)
	}
	for _, command := range []string{"list", "export"} {
		if _, err := runs(t, false, command, fileOf(t, base+seeds)); err == nil || !strings.Contains(err.Error(), "there is no [[notify]]") {
			t.Errorf("%s of a file with a fault: %v", command, err)
		}
	}
}

// What receivers find wrong about themselves, such as a secret that others may read, is found with the alerts; what others find is not.
func TestCheckAsksTheReceivers(t *testing.T) {
	t.Parallel()
	path := fileOf(t, base)
	a := &shell{&cli.Shell{World: cli.World{Getenv: func(string) string { return "" }}, Kinds: []node.Kind{{
		Section: func() config.Section { return configtest.Plain("roles") },
		Check: func(_ config.Config, fault func(string, error)) {
			fault("notify[0].secret_file", errors.New("every user of this machine may read it"))
			fault("node.token_file", errors.New("is gone"))
		},
		Remark: func(_ config.Config, _ time.Time, tell func(key, text string)) {
			tell("notify[0]", "is told nothing")
			tell("crons[0]", "is odd")
		},
	}, Kind()}}}
	c, read, err := a.load(path)
	if err != nil {
		t.Fatal(err)
	}
	faults, warnings := a.judge(c, read)
	if len(faults) != 1 || faults[0].Key != "notify[0].secret_file" || len(warnings) != 1 || warnings[0].Key != "notify[0]" {
		t.Errorf("got the faults %v and the warnings %v", faults, warnings)
	}
}
