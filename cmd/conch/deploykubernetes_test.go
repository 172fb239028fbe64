//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/internal/proctest"
)

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

// conch run accepts the arguments that the manifest gives it as an entry point, and the pod has what that of a node has.
func TestKubernetesRun(t *testing.T) {
	t.Parallel()
	all, node := manifests(t, "kubernetes-run.yaml"), manifests(t, "kubernetes.yaml")["Deployment conch"]
	deployment := all["Deployment mailer"]
	pod := at(deployment, "spec", "template", "spec")
	container := at(pod, "containers", 0)
	for _, path := range [][]any{
		{"spec", "strategy"},
		{"spec", "minReadySeconds"},
		{"spec", "template", "metadata", "annotations"},
		{"spec", "template", "spec", "topologySpreadConstraints", 0, "topologyKey"},
		{"spec", "template", "spec", "automountServiceAccountToken"},
		{"spec", "template", "spec", "containers", 0, "livenessProbe"},
		{"spec", "template", "spec", "containers", 0, "readinessProbe"},
		{"spec", "template", "spec", "containers", 0, "ports"},
		{"spec", "template", "spec", "containers", 0, "securityContext"},
	} {
		if got, want := at(deployment, path...), at(node, path...); want == nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v of the deployment is %v, want %v as of the node", path, got, want)
		}
	}
	name := at(deployment, "spec", "template", "metadata", "labels", "app.kubernetes.io/name")
	for of, labels := range map[string]any{
		"the budget": at(all["PodDisruptionBudget mailer"], "spec", "selector", "matchLabels"),
		"the spread": at(pod, "topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
	} {
		if got := at(labels, "app.kubernetes.io/name"); got == nil || got != name {
			t.Errorf("%s selects %v, want the pods of %v", of, got, name)
		}
	}
	list, _ := at(container, "args").([]any)
	if i := slices.Index(list, any("--ops-listen")); i < 0 || list[i+1] != fmt.Sprint(":", at(container, "ports", 0, "containerPort")) {
		t.Errorf("the arguments are %v, want the address that the probes ask", list)
	} else if !strings.Contains(conch(t, "run", "--help").done(t), "--ops-listen") {
		list = slices.Delete(list, i, i+2) // a binary without the flag
	}
	var args []string
	for _, a := range list {
		args = append(args, strings.Replace(a.(string), "/usr/local/bin/mailer", "/no/such/mailer", 1))
	}
	conch(t, append([]string{"--db", "postgres://conch:x@127.0.0.1:1/app"}, args...)...).refused(t, 2, "/no/such/mailer cannot be run")
	if at(container, "env", 1, "name") != "CONCH_INSTANCE_ID" || at(container, "resources", "limits", "cpu") != nil {
		t.Errorf("the container is %v, want CONCH_INSTANCE_ID and no limit of the CPU", container)
	}
}

// The job makes the schema before it grants, as the owner, and nobody has to have an image that was never published.
func TestKubernetesMigrate(t *testing.T) {
	t.Parallel()
	job := manifests(t, "kubernetes-migrate.yaml")["Job conch-migrate"]
	pod := at(job, "spec", "template", "spec")
	first, then := at(pod, "initContainers", 0), at(pod, "containers", 0)
	if at(first, "args", 0) != "migrate" || at(first, "args", 1) != "up" {
		t.Errorf("first the job runs %v, want migrate up", at(first, "args"))
	}
	if script, _ := at(then, "command", 2).(string); !strings.Contains(script, "psql") || !strings.Contains(script, "/grants/grants.sql") {
		t.Errorf("then the job runs %v, want the grants", at(then, "command"))
	}
	for _, c := range []any{first, then} {
		if at(c, "env", 0, "valueFrom", "secretKeyRef", "name") != "conch-db-owner" || at(c, "securityContext", "readOnlyRootFilesystem") != any(true) {
			t.Errorf("the container is %v, want the owner's secret and a root that cannot be written", c)
		}
	}
	files, err := filepath.Glob("../../deploy/*")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text := deployed(t, filepath.Base(file)); strings.Contains(text, ":latest") {
			t.Errorf("%s names an image by latest, want a version", file)
		}
	}
}

// The patch fits the deployment: each folder that it mounts is a volume that it adds, and the node reads what is there.
func TestKubernetesSecrets(t *testing.T) {
	t.Parallel()
	var patch map[string]any
	if err := yaml.Unmarshal([]byte(deployed(t, "kubernetes-secrets.yaml")), &patch); err != nil {
		t.Fatal(err)
	}
	pod := at(patch, "spec", "template", "spec")
	if name := at(manifests(t, "kubernetes.yaml")["Deployment conch"], "spec", "template", "spec", "containers", 0, "name"); at(pod, "containers", 0, "name") != name {
		t.Errorf("the patch changes container %v, want %v", at(pod, "containers", 0, "name"), name)
	}
	for i, folder := range []string{"/etc/conch-db-ca", "/etc/conch-tokens"} {
		mount, volume := at(pod, "containers", 0, "volumeMounts", i), at(pod, "volumes", i)
		if at(mount, "mountPath") != folder || at(mount, "name") != at(volume, "name") || at(volume, "secret", "secretName") == nil {
			t.Errorf("mount %v and volume %v, want a secret at %s", mount, volume, folder)
		}
	}
	if at(pod, "containers", 0, "env", 0, "name") != "CONCH_DB_TLS_CA_FILE" || at(pod, "containers", 0, "env", 0, "value") != "/etc/conch-db-ca/ca.crt" {
		t.Errorf("the environment is %v, want the authority of the database", at(pod, "containers", 0, "env"))
	}
	if !strings.Contains(deployed(t, "kubernetes.yaml"), `# token_file = "/etc/conch-tokens/operate"`) || at(pod, "volumes", 1, "secret", "defaultMode") != 0o440 {
		t.Error("the tokens are not where conch.toml looks for them, closed to others")
	}
}

func shellCheck(t *testing.T, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-n")
	cmd.Stdin = strings.NewReader(script)
	return proctest.Output(t, cmd, patience)
}
