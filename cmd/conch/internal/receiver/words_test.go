package receiver

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/conchhq/conch/alerts"
)

// A template that fails is replaced by rule, labels, value and the fault, and the message leaves.
func TestTemplatesThatFail(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		"{{ $labels.scope":                 "unclosed action",
		"{{ $lables.scope }}":              "undefined variable",
		"{{ nothing }}":                    `function "nothing" not defined`,
		"{{ query \"up\" }}":               "asks nothing",
		"{{ range 1000000000 }}x{{ end }}": "no range",
		"{{ index $labels 3 }}":            "index",
	} {
		w := home.Write(Texts{Annotations: map[string]string{"summary": text, "description": text}}, sample(1, 0))
		for _, part := range []string{"NoLeader", `{scope="scope-0"}`, "value 0", "its summary cannot be written", fault} {
			if !strings.Contains(w.Title, part) {
				t.Errorf("%s: the title %q has no %q", text, w.Title, part)
			}
		}
		if !strings.Contains(w.Description, "description cannot be written") || !strings.Contains(w.Description, fault) {
			t.Errorf("%s: the description is %q", text, w.Description)
		}
	}
	if w := home.Write(Texts{}, sample(1, 0)); w.Title != `NoLeader {scope="scope-0"} value 0` {
		t.Errorf("without annotations the title is %q", w.Title)
	}
}

// Ten members have names, the rest is counted, and the title is about the first.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	w := home.Write(texts, sample(10, 4990))
	if w.Title != "scope-0 has no leader, and 4999 more" || len(w.Lines) != 11 || w.Lines[10] != "… and 4990 more" {
		t.Errorf("got the title %q and the lines %q", w.Title, w.Lines)
	}
	if want := `scope-2 has no leader · {scope="scope-2"} value 1 since 2026-11-30 12:00:02 UTC`; w.Lines[2] != want {
		t.Errorf("got %q, want %q", w.Lines[2], want)
	}
	m := sample(0, 0)
	if w := home.Write(texts, m); w.Title != "has no leader" || len(w.Lines) != 0 {
		t.Errorf("without members got the title %q", w.Title)
	}
}

// What others have named is drawn: nothing in it is invisible, turns a text around, or begins a line.
func TestNamesAreDrawn(t *testing.T) {
	t.Parallel()
	m := sample(2, 0)
	m.Members[0] = m.Members[1]
	w := home.Write(texts, m)
	if !strings.HasPrefix(w.Title, "<!channel> & ‹U+202E›bad‹U+000D›‹U+000A›Bcc: all@example.com has no leader") {
		t.Errorf("got the title %q", w.Title)
	}
	for _, text := range append(w.Lines, w.Title, w.headline()) {
		if text != draw(text) {
			t.Errorf("%q has characters that nobody sees", text)
		}
	}
	if !strings.Contains(w.Description, "\n") {
		t.Errorf("the description %q has lost its own lines", w.Description)
	}
	if got := drawLines("a\r\nb\tc\x00\u2028"); got != "a\nb c‹U+0000›‹U+2028›" {
		t.Errorf("got %q", got)
	}
	if got := draw("\xff"); !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}

// Whatever others name things, a message stays within what each medium takes.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("<&>\u202e\"", 2000)
	m := alerts.Message{Key: "conch/" + huge, Seq: math.MaxUint64, Rule: huge, Severity: huge, Status: alerts.Firing, Group: map[string]string{huge: huge}, Others: math.MaxInt32, Silence: huge, Since: begun, Until: now}
	for i := range 10 {
		labels := map[string]string{}
		for j := range 100 {
			labels[fmt.Sprint(j, huge)] = huge
		}
		m.Members = append(m.Members, alerts.Firer{Labels: labels, Value: math.Inf(i%2*2 - 1), Since: begun})
	}
	annotations := map[string]string{"summary": huge, "description": huge + "{{ $labels }}"}
	for i := range 50 {
		annotations[fmt.Sprint(i, huge)] = huge
	}
	w := Place{Cluster: huge, PublicURL: "https://conch.example"}.Write(Texts{Annotations: annotations, Labels: map[string]string{huge: huge}}, m)
	body, err := json.Marshal(pager{key: secretKey}.event(w))
	if err != nil || len(body) > 512_000/2 {
		t.Errorf("PagerDuty gets %d bytes and %v, and takes 512 kB", len(body), err)
	}
	if key := (pager{}).event(w).DedupKey; len(key) > mostKey {
		t.Errorf("the key has %d characters", len(key))
	}
	body, err = json.Marshal(message(w))
	if err != nil || len(body) > 100_000 {
		t.Errorf("Slack gets %d bytes and %v", len(body), err)
	}
	if text := fit(strings.Repeat("&", 5000)); len(text) > 3000 || !strings.HasSuffix(text, ";…") {
		t.Errorf("a text of Slack has %d bytes and ends with %q", len(text), text[len(text)-10:])
	}
	if text := w.letter(); len(text) > 50_000 {
		t.Errorf("a letter has %d bytes", len(text))
	}
	if n := len([]rune(w.headline())); n > mostTitle+30 {
		t.Errorf("a title has %d characters", n)
	}
}

// F9: the words that people write for how bad it is, in PagerDuty's; a word that it does not know wakes somebody.
func TestSeverities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"page": "critical", "Critical": "critical", "error": "error", "warn": "warning", "warning": "warning", "info": "info", "": "error", "sev1": "error"} {
		if got := severityOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
