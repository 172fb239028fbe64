package alerts

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/proctest"
)

var update = flag.Bool("update", false, "write what is made of the built-in alerts")

const tree = "../../../../../"

// made compares a file with what is made of the built-in alerts, or writes it.
func made(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.FromSlash(tree + name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the built-in alerts make of it: go test ./cmd/conch/internal/service/alerts -update", name)
	}
}

func builtin() *Section {
	s := new(Section)
	s.Settle(nil, config.Config{})
	return s
}

// F9: deploy/alerts.yaml is what conch alerts export prints, and promtool accepts it.
func TestExport(t *testing.T) {
	t.Parallel()
	made(t, "deploy/alerts.yaml", export(builtin().all))
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the rules were only read")
		return
	}
	if out, err := proctest.Output(t, exec.Command(tool, "check", "rules", filepath.FromSlash(tree+"deploy/alerts.yaml")), time.Minute); err != nil || !strings.Contains(out, fmt.Sprintf("%d rules found", len(Builtin())-len(ofAlerts()))) {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// What is exported is read back as it was written, whatever characters the file has.
func TestExportOfAFile(t *testing.T) {
	t.Parallel()
	c, err := load(t, cluster+`[[alerts]]
name = "odd: # 'name'"
condition = """
conch_is_leader{scope=~"a: #.*"}

   > 1"""
for = "90s"
keep_firing_for = "2h"
severity = "null"
labels = { team = "- a: b", yes = "no" }
annotations = { summary = "x: \"{{ $labels.scope }}\" # \\ é\n\tnext" }
`)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Groups []struct{ Rules []map[string]any }
	}
	text := export(config.Of[*Section](c).all)
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	rules := out.Groups[0].Rules
	got := rules[len(rules)-1]
	want := map[string]any{
		"alert": "odd: # 'name'", "expr": "conch_is_leader{scope=~\"a: #.*\"}\n\n   > 1", "for": "90s", "keep_firing_for": "2h",
		"labels":      map[string]any{"severity": "null", "team": "- a: b", "yes": "no"},
		"annotations": map[string]any{"summary": "x: \"{{ $labels.scope }}\" # \\ é\n\tnext"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The built-in alerts are without a fault by the check of the file's own, but for the labels of a scrape, which are empty here.
func TestBuiltinAlertsAreSound(t *testing.T) {
	t.Parallel()
	s := builtin()
	names := map[string]bool{}
	for _, a := range s.all {
		a.builtin = false
		for _, f := range s.faultsOf(a) {
			t.Errorf("%+v", f)
		}
		if names[a.Name] || a.Annotations["summary"] == "" || a.more == "" {
			t.Errorf("%s has no summary or advice, or is there twice", a.Name)
		}
		names[a.Name] = true
	}
}

// The table of alerts in docs/operations.md is that of the built-in alerts.
func TestTheTableOfAlerts(t *testing.T) {
	t.Parallel()
	const head = "| alert | severity | usual cause, or more |\n|---|---|---|\n"
	var rows strings.Builder
	for _, a := range builtin().all {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", a.Name, a.Severity, a.more)
	}
	page, err := os.ReadFile(filepath.FromSlash(tree + "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, is := strings.Cut(string(page), head)
	_, behind, ends := strings.Cut(rest, "\n\n")
	if !is || !ends {
		t.Fatalf("docs/operations.md has no table with the head\n%s", head)
	}
	made(t, "docs/operations.md", before+head+rows.String()+"\n"+behind)
}

// Each built-in condition is evaluated over rows of nodes, not only parsed.
func TestBuiltinAlertsAreEvaluated(t *testing.T) {
	t.Parallel()
	e := newEvaluator(builtin(), new(shelf).read)
	out, err := e.Evaluate(t.Context(), time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out {
		if r.Fault != "" {
			t.Errorf("%s: %s", r.Rule, r.Fault)
		}
		if alone := r.Rule == "ConchNobodyIsThere"; r.NoData == alone || (len(r.Members) == 1) != alone {
			t.Errorf("without a row %s gives %+v, want no data, and that nobody is there", r.Rule, r)
		}
	}
	if keep := e.window.KeepFor(); keep != time.Hour+condition.Slack {
		t.Errorf("rows are kept for %v, want as long as the longest range and five minutes", keep)
	}
}
