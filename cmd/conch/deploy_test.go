//go:build unix

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	return tree(t, filepath.Join("deploy", name))
}

// tree returns the text of a file of the tree.
func tree(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// conch accepts every configuration in deploy, and serves probes where the manifests ask.
func TestDeployedConfigurations(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"conch.toml":      deployed(t, "conch.toml"),
		"kubernetes.yaml": at(manifests(t, "kubernetes.yaml")["ConfigMap conch"], "data", "conch.toml").(string),
	} {
		file := filepath.Join(t.TempDir(), "conch.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		conch(t, "--db", "postgres://db.example/app", "config", "check", "--config", file).done(t)
		if !strings.Contains(text, `ops_listen = ":9090"`) {
			t.Errorf("%s does not serve probes at :9090, want it to", name)
		}
	}
}

func TestContainerfile(t *testing.T) {
	t.Parallel()
	text := deployed(t, "Containerfile")
	instructions := map[string][]string{}
	for line := range strings.Lines(text) {
		if word, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && word == strings.ToUpper(word) && word != "#" {
			instructions[word] = append(instructions[word], rest)
		}
	}
	if from := instructions["FROM"]; len(from) != 2 || !strings.Contains(from[0], "golang:1.26") || from[1] != "scratch" {
		t.Errorf("FROM is %q, want golang:1.26 and scratch", from)
	}
	if user := instructions["USER"]; len(user) != 1 || user[0] != "65532:65532" {
		t.Errorf("USER is %q, want the number of a user other than root", user)
	}
	for _, word := range []string{"ENTRYPOINT", "CMD"} {
		if list := instructions[word]; len(list) != 1 || !strings.HasPrefix(list[0], "[") {
			t.Errorf("%s is %q, want a list: there is no shell", word, list)
		}
	}
	if copies := strings.Join(instructions["COPY"], "\n"); !strings.Contains(copies, "NOTICES.md") {
		t.Errorf("COPY is %q, want NOTICES.md among it: the image passes on what others have licensed", copies)
	}
	if run := strings.Join(instructions["RUN"], " "); !strings.Contains(run, "CGO_ENABLED=0") {
		t.Errorf("RUN is %q, want CGO_ENABLED=0: there is no libc", run)
	}
	if !runtest.Nightly() {
		return // the build takes minutes
	}
	// The binary is static: it has no interpreter and needs no library.
	binary := filepath.Join(t.TempDir(), "conch")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := proctest.Output(t, build, building); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if code, err := os.ReadFile(binary); err != nil || bytes.Contains(code, []byte("ld-linux")) {
		t.Errorf("the binary is not static: %v", err)
	}
}

// The image is made of the whole tree but what .dockerignore names: nothing that is built or copied, and all that Git ignores.
func TestDockerignore(t *testing.T) {
	t.Parallel()
	var out []string
	for line := range strings.Lines(tree(t, ".dockerignore")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	for _, name := range []string{".git", "bin", "bench", "cover.*", "**/*.test", "**/*.prof"} {
		if !slices.Contains(out, name) {
			t.Errorf(".dockerignore lacks %s", name)
		}
	}
	for module := range strings.FieldsSeq(strings.NewReplacer("use", "", "(", "", ")", "").Replace(regexp.MustCompile(`(?m)^go .*`).ReplaceAllString(tree(t, "go.work"), ""))) {
		if top, _, _ := strings.Cut(strings.TrimPrefix(module, "./"), "/"); slices.Contains(out, top) {
			t.Errorf(".dockerignore leaves out %s, which go.work has", module)
		}
	}
	for _, needed := range []string{"LICENSE", "NOTICES.md", "go.work", "go.work.sum", "internal"} {
		if slices.Contains(out, needed) {
			t.Errorf(".dockerignore leaves out %s", needed)
		}
	}
}

// The units have these lines and, if systemd is installed, pass systemd-analyze.
func TestUnit(t *testing.T) {
	t.Parallel()
	both := []string{
		"User=conch", "Delegate=yes", "ProtectControlGroups=no", "KillMode=mixed", "Restart=always", "NoNewPrivileges=yes",
		"ProtectSystem=strict", "RestartPreventExitStatus=2", "LimitCORE=0", "CapabilityBoundingSet=", "PrivateDevices=yes",
		"SystemCallFilter=@system-service", "RestrictNamespaces=pid user",
	}
	verify(t, "conch.service", append(both, "ExecReload=/bin/kill -HUP $MAINPID", "TimeoutStopSec=45s"))
	verify(t, "conch-run@.service", append(both, "ExecStart=/usr/local/bin/conch run --scope %i --restart --log-level info $OPTIONS -- $COMMAND", "Environment=OPTIONS=", "TimeoutStopSec=30s"))
}

func verify(t *testing.T, name string, lines []string) {
	t.Helper()
	text := deployed(t, name)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%s lacks the line %s", name, line)
		}
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Logf("systemd-analyze is not installed: %s was only read, not verified", name)
		return
	}
	file := filepath.Join(t.TempDir(), name)
	text = strings.ReplaceAll(text, "/usr/local/bin/conch", program)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := proctest.Output(t, exec.Command(tool, "verify", file), patience); err != nil || strings.Contains(out, name) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := proctest.Output(t, exec.Command(tool, "security", "--offline=true", "--no-pager", "--threshold=30", file), patience); err != nil {
		t.Errorf("systemd-analyze security finds more than 3.0 of exposure: %v\n%s", err, out)
	}
}

// Every alert uses exported metrics, or it would never fire.
func TestAlerts(t *testing.T) {
	t.Parallel()
	text := deployed(t, "alerts.yaml")
	var rules map[string]any
	if err := yaml.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	list, _ := at(rules, "groups", 0, "rules").([]any)
	text = pageOfEverything(t)
	page, err := os.ReadFile("../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	contracts := string(page)
	for i, rule := range list {
		expr, _ := at(rule, "expr").(string)
		for _, metric := range regexp.MustCompile(`conch_\w+`).FindAllString(expr, -1) {
			if name, is := strings.CutPrefix(metric, "conch_sequencer_"); is { // they are where a contract is: their page has all
				if !strings.Contains(contracts, "\n| `"+name+"` |") {
					t.Errorf("%v asks for %s, which is not on the page of contracts", at(rule, "alert"), metric)
				}
				continue
			}
			if !regexp.MustCompile(`(?m)^` + metric + `({[^}]*(scope="payments"|account="payer"|peer="two"|queue="mail"|webhook="shop"|cron="tick"|namespace="flags"|name="files:data.ca"|version=)| )`).MatchString(text) {
				t.Errorf("%v asks for %s, which is not exported", at(rule, "alert"), metric)
			}
		}
		if at(rule, "annotations", "summary") == nil || at(rule, "labels", "severity") == nil {
			t.Errorf("rule %d is %v, want a summary and a severity", i, rule)
		}
	}
	if len(list) < 4 {
		t.Errorf("%d rules, want 4 or more", len(list))
	}
	judgeAbsence(t, list)
}

// judgeAbsence wants a page for the absence of all series, which no comparison notices, and no
// labels but those of the metrics and the manifests.
func judgeAbsence(t *testing.T, rules []any) {
	t.Helper()
	paged := false
	for _, rule := range rules {
		expr := at(rule, "expr").(string)
		paged = paged || strings.Contains(expr, "absent(conch_is_leader)") && at(rule, "labels", "severity") == "critical"
		if regexp.MustCompile(`(job|instance|namespace|app_kubernetes_io_name)\s*[=!]`).MatchString(expr) {
			t.Errorf("%v asks for a label that neither metrics nor manifests have: %s", at(rule, "alert"), expr)
		}
		if strings.Contains(expr, "app_kubernetes_io_name") {
			labels := at(manifests(t, "kubernetes.yaml")["Deployment conch"], "spec", "template", "metadata", "labels")
			if at(labels, "app.kubernetes.io/name") == nil {
				t.Errorf("%v asks for the label app_kubernetes_io_name, which the pods lack", at(rule, "alert"))
			}
		}
	}
	if !paged {
		t.Error("no rule pages when all nodes are gone, want one")
	}
}
