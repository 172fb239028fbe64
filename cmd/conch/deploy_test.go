//go:build unix

package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// at follows keys and indexes into a document, such as "spec", "containers", 0.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func manifests(t *testing.T, file string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for d := yaml.NewDecoder(strings.NewReader(deployed(t, file))); ; {
		var one map[string]any
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		key := at(one, "kind").(string) + " " + at(one, "metadata", "name").(string)
		if all[key] != nil {
			t.Errorf("two manifests of %s, want one", key)
		}
		all[key] = one
	}
}

// Properties of the manifests that must not get lost.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	all := manifests(t, "kubernetes.yaml")
	deployment := all["Deployment conch"]
	pod := at(deployment, "spec", "template", "spec")
	container := at(pod, "containers", 0)
	for _, c := range []struct {
		got, want any
	}{
		{at(deployment, "spec", "replicas"), 3},
		{at(all["PodDisruptionBudget conch"], "spec", "maxUnavailable"), 1},
		{at(pod, "automountServiceAccountToken"), false},
		{at(pod, "securityContext", "runAsNonRoot"), true},
		{at(pod, "terminationGracePeriodSeconds"), 45},
		{at(container, "livenessProbe", "httpGet", "path"), "/healthz"},
		{at(container, "readinessProbe", "httpGet", "path"), "/readyz"},
		{at(container, "readinessProbe", "httpGet", "port"), at(container, "ports", 0, "name")},
		{at(container, "ports", 0, "containerPort"), 9090},
		{at(container, "env", 0, "name"), "CONCH_DB_URL"},
		{at(container, "env", 0, "valueFrom", "secretKeyRef", "name"), "conch-db"},
		{at(container, "env", 1, "name"), "CONCH_INSTANCE_ID"},
		{at(container, "env", 1, "valueFrom", "fieldRef", "fieldPath"), "metadata.name"},
		{at(pod, "containers", 1, "name"), "payments"}, // the program that asks the gate
		{at(pod, "containers", 1, "securityContext", "allowPrivilegeEscalation"), false},
		{at(container, "securityContext", "readOnlyRootFilesystem"), true},
		{at(container, "securityContext", "allowPrivilegeEscalation"), false},
		{at(container, "securityContext", "capabilities", "drop", 0), "ALL"},
		{at(container, "resources", "limits", "cpu"), nil}, // a throttled leader loses its lease
	} {
		if c.got != c.want {
			t.Errorf("the manifests have %v, want %v", c.got, c.want)
		}
	}
	selector, label := at(deployment, "spec", "selector", "matchLabels"), at(deployment, "spec", "template", "metadata", "labels")
	for name, m := range map[string]any{"the deployment": selector, "the budget": at(all["PodDisruptionBudget conch"], "spec", "selector", "matchLabels")} {
		if at(m, "app.kubernetes.io/name") != at(label, "app.kubernetes.io/name") {
			t.Errorf("%s selects %v, want the pods' labels %v", name, m, label)
		}
	}
	for _, script := range []any{at(all["ConfigMap conch-example-label"], "data", "label.sh"), at(all["ConfigMap conch"], "data", "payments.sh")} {
		if out, err := shellCheck(t, script.(string)); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, script)
		}
	}
}

// conch run accepts the arguments that the manifest gives it as an entry point.
func TestKubernetesRun(t *testing.T) {
	t.Parallel()
	container := at(manifests(t, "kubernetes-run.yaml")["Deployment mailer"], "spec", "template", "spec", "containers", 0)
	list, _ := at(container, "args").([]any)
	var args []string
	for _, a := range list {
		args = append(args, strings.Replace(a.(string), "/usr/local/bin/mailer", "/no/such/mailer", 1))
	}
	conch(t, append([]string{"--db", "postgres://conch:x@127.0.0.1:1/app"}, args...)...).refused(t, 2, "/no/such/mailer cannot be run")
	if at(container, "env", 1, "name") != "CONCH_INSTANCE_ID" || at(container, "resources", "limits", "cpu") != nil {
		t.Errorf("the container is %v, want CONCH_INSTANCE_ID and no limit of the CPU", container)
	}
}

func shellCheck(t *testing.T, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-n")
	cmd.Stdin = strings.NewReader(script)
	return proctest.Output(t, cmd, patience)
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
	if run := strings.Join(instructions["RUN"], " "); !strings.Contains(run, "CGO_ENABLED=0") {
		t.Errorf("RUN is %q, want CGO_ENABLED=0: there is no libc", run)
	}
	if !pgtest.Nightly() {
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

// The units have these lines and, if systemd is installed, pass systemd-analyze.
func TestUnit(t *testing.T) {
	t.Parallel()
	both := []string{
		"User=conch", "Delegate=yes", "ProtectControlGroups=no", "KillMode=mixed", "Restart=always", "NoNewPrivileges=yes",
		"ProtectSystem=strict", "RestartPreventExitStatus=2",
	}
	verify(t, "conch.service", append(both, "ExecReload=/bin/kill -HUP $MAINPID", "TimeoutStopSec=45s"))
	verify(t, "conch-run@.service", append(both, "ExecStart=/usr/local/bin/conch run --scope %i --restart --log-level info -- $COMMAND", "TimeoutStopSec=30s"))
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
	for i, rule := range list {
		expr, _ := at(rule, "expr").(string)
		for _, metric := range regexp.MustCompile(`conch_\w+`).FindAllString(expr, -1) {
			if !regexp.MustCompile(`(?m)^` + metric + `({[^}]*(scope="payments"|account="payer"|peer="two"|namespace="flags"|name="files:data.ca"|version=)| )`).MatchString(text) {
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
		paged = paged || strings.Contains(expr, "absent(conch_is_leader)") && at(rule, "labels", "severity") == "page"
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
