//go:build unix

package main_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The table of docs/metrics.md is what a node with every service exports, with every label and
// with each value of a label whose values the program chooses.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	want := tableOf(pageOfEverything(t))
	_, rows, _ := strings.Cut(string(doc), "|---|---|---|---|\n")
	rows, rest, _ := strings.Cut(rows, "\n\n")
	if strings.TrimSpace(rows) != want {
		t.Errorf("the table of docs/metrics.md differs from what a node exports, want:\n%s", want)
	}
	for _, reasons := range regexp.MustCompile("`reason`: ([^|]*) ").FindAllStringSubmatch(want, -1) {
		for reason := range strings.SplitSeq(reasons[1], ", ") {
			if !strings.Contains(rest, "\n| "+reason+" |") {
				t.Errorf("docs/metrics.md has no row below the table that says what the reason %s means", reason)
			}
		}
	}
}

// pageOfEverything returns the metrics of a node with every service that leads its files.
func pageOfEverything(t *testing.T) (text string) {
	t.Helper()
	d := prepareDaemon(t, "one", "", "")
	conch(t, "identity", "new", "--file", filepath.Join(d.dir, "identity.pem")).done(t)
	newAuthority(t, filepath.Join(d.dir, "ca.pem"))
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	if err := os.WriteFile(filepath.Join(d.dir, "shop.secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write(fileOf(migrated(t).URL, "listen = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n[[roles]]\nname = \"payments\"\n"+accountAt(d, "http://127.0.0.1:1", 1337, "")+
		"[[webhooks]]\nname = \"shop\"\nurl = \"https://shop.example/hooks\"\nsecret_file = \"shop.secret\"\n"+
		"[[crons]]\nname = \"tick\"\nschedule = \"@yearly\"\njob = \"work\"\nqueue = \"mail\"\n[[workers]]\nqueues = [\"mail\"]\n[[files]]\nscope = \"data\"\ndir = \"files\"\nca_file = \"ca.pem\"\npeers = { two = \"http://127.0.0.1:1\" }\n"+
		"[identity]\nname = \"one\"\nlisten = \"127.0.0.1:0\"\nkey = \"identity.pem\"\n[gossip]\n[[logs]]\nnamespace = \"flags\"\n"+
		"[[peers]]\nname = \"two\"\nurl = \"https://127.0.0.1:1\"\nkey = \"sha256:"+strings.Repeat("2", 64)+"\"\n"))
	d.start().says("serving health and metrics")
	url := "http://" + d.value("serving health and metrics", "address") + "/metrics"
	pgtest.Eventually(t, patience, "it leads its files", func() bool {
		_, text = page(t, url)
		return strings.Contains(text, "conch_files_behind") && strings.Contains(text, "conch_schedule_oldest_ready_seconds") && strings.Contains(text, "conch_webhook_events")
	})
	return text
}

// given are labels whose values come from the configuration or the build; le is that of every
// histogram.
var given = []string{"scope", "namespace", "account", "peer", "queue", "cron", "webhook", "name", "version", "goversion", "le"}

var labelIn = regexp.MustCompile(`(\w+)="([^"]*)"`)

// tableOf returns the rows for a page of metrics.
func tableOf(page string) string {
	var rows []string
	for family := range strings.SplitSeq(page, "# HELP ") {
		about, samples, _ := strings.Cut(family, "\n")
		name, help, _ := strings.Cut(about, " ")
		if !strings.HasPrefix(name, "conch_") {
			continue
		}
		kind, samples, _ := strings.Cut(strings.TrimPrefix(samples, "# TYPE "+name+" "), "\n")
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", name, kind, labelsOf(samples), strings.ReplaceAll(help, "|", "\\|")))
	}
	return strings.Join(rows, "\n")
}

// labelsOf returns the labels in a metric's samples, and the values of those that are not given.
func labelsOf(samples string) string {
	var plain, told []string
	values := map[string][]string{}
	for _, found := range labelIn.FindAllStringSubmatch(samples, -1) {
		name, value := found[1], "`"+found[2]+"`"
		switch {
		case name == "le":
		case !slices.Contains(given, name):
			values[name] = append(values[name], value)
		case !slices.Contains(plain, "`"+name+"`"):
			plain = append(plain, "`"+name+"`")
		}
	}
	for name, all := range values {
		slices.Sort(all)
		told = append(told, "`"+name+"`: "+strings.Join(slices.Compact(all), ", "))
	}
	slices.Sort(told)
	if len(plain)+len(told) == 0 {
		return "none"
	}
	return strings.Join(append(plain, told...), "; ")
}
