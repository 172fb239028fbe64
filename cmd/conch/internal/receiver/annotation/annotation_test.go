package annotation

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var labels = map[string]string{"scope": "billing", "account": "a", "peer": "p", "instance": "node-1"}

// F9: the words of Prometheus mean the same here.
func TestTheLanguageOfPrometheus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{ $labels.scope }} has {{ $value }}":                    "billing has 1234.5",
		"{{ .Labels.scope }} {{ .Value }}":                        "billing 1234.5",
		"{{ $value | humanize }} {{ $value | humanizeDuration }}": "1.234k 20m 34s",
		"{{ printf \"%.2f of %s\" $value $labels.scope }}":        "1234.50 of billing",
		"{{ if gt $value 3.0 }}many{{ else }}few{{ end }}":        "many",
		"{{ with $labels.scope }}{{ . | toUpper }}{{ end }}":      "BILLING",
		"{{ reReplaceAll \"(b)ill\" \"${1}owl\" $labels.scope }}": "bowling",
		"{{ $labels.absent }}.":                                   ".",
		"{{ $externalLabels.cluster }}{{ $externalURL }}":         "",
		"no template": "no template",
	} {
		got, err := Expand(text, labels, 1234.5, time.Unix(0, 0))
		if strings.ReplaceAll(got, "<no value>", "") != want || err != nil {
			t.Errorf("%s: got %q and %v, want %q", text, got, err, want)
		}
	}
}

// All that is shipped can be written.
func TestTheShippedAnnotations(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../../../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?:summary|description): "(.*)"`).FindAllStringSubmatch(string(rules), -1)
	if len(all) < 20 {
		t.Fatalf("found %d annotations", len(all))
	}
	for _, one := range all {
		if got, err := Expand(one[1], labels, 3, time.Unix(0, 0)); err != nil || got == "" {
			t.Errorf("%s: got %q and %v", one[1], got, err)
		}
	}
}

// Whatever a template says, it ends, and what it becomes is bounded.
func TestTemplatesEnd(t *testing.T) {
	t.Parallel()
	double := "{{ with \"xxxxxxxxxxxxxxxx\" }}" + strings.Repeat("{{ with printf \"%s%s\" . . }}", 60) + "{{ . }}" + strings.Repeat("{{ end }}", 61)
	escaped := "{{ `\\\\` " + strings.Repeat("| js ", 200) + "}}"
	linked := "{{ `%` " + strings.Repeat("| graphLink ", 200) + "}}"
	grown := "{{ $a := printf \"%s%s%s%s\" `" + strings.Repeat("x", 1000) + "` `" + strings.Repeat("y", 1000) + "` `` `` }}{{ reReplaceAll `` $a $a }}"
	for text, want := range map[string]string{
		"{{ range 1000000000000 }}{{ end }}":                                  "no range",
		"{{ if true }}{{ range $labels }}x{{ end }}{{ end }}":                 "no range",
		"{{ with 1 }}{{ else }}{{ range $labels }}x{{ end }}{{ end }}":        "no range",
		"{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}": "no range",
		"{{ define \"a\" }}x{{ end }}":                                        "no range",
		"{{ block \"a\" . }}x{{ end }}":                                       "no range",
		"{{ tmpl \"a\" 1 }}":                                                  "",
		"{{ printf \"%1000000d\" 1 }}":                                        "width",
		"{{ printf \"%*d\" 1000000 1 }}":                                      "width",
		"{{ printf \"%[2]*[1]d\" 1 1000000 }}":                                "width",
		"{{ printf \"%.1000000f\" 1.0 }}":                                     "width",
		grown:                                                                 "millions",
		strings.Repeat("{{ $value }}", 1000):                                  "more than 4096 bytes",
		"{{ query \"up\" }}":                                                  "asks nothing",
		"{{ reReplaceAll \"(\" \"\" \"\" }}":                                  "missing closing",
		"{{ $labels.scope":                                                    "line 1",
	} {
		if got, err := Expand(text, labels, math.NaN(), time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%.60s: got %d bytes and %v, want a fault that says %q", text, len(got), err, want)
		}
	}
	for _, text := range []string{double, escaped, linked, strings.Repeat("y", 1<<20)} {
		if got, err := Expand(text, labels, 1, time.Unix(0, 0)); err != nil || len(got) > mostSaid {
			t.Errorf("%.60s: got %d bytes and %v, want at most %d", text, len(got), err, mostSaid)
		}
	}
}
