package condition

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// checked lists what is found, as "fault column 3: …" or "warning …".
func checked(text string) (all []string) {
	c, err := Parse(text)
	if err != nil {
		f, _ := errors.AsType[*FaultError](err)
		return []string{"fault " + f.Error()}
	}
	for _, f := range c.Check() {
		all = append(all, map[bool]string{true: "warning ", false: "fault "}[f.Warning]+f.Error())
	}
	return all
}

// F9: each thing that keeps a condition from firing is found, with its column and what to write instead.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string // the beginning of each; none: it is sound
	}{
		{`sum(conch_is_leader) = 0`, []string{`fault column 22: unexpected`}},
		{"conch_is_leader\n  == =", []string{`fault line 2, column 6: unexpected`}},
		{`ü`, []string{`fault column 1: unexpected character`}},
		{strings.Repeat("(", 20_000), []string{"fault column 1: the condition has 20000 bytes"}},
		{`conch_is_leader[5m]`, []string{`fault column 1: a range of points is no condition: did you mean increase(conch_is_leader[5m]) > 0?`}},
		{`"x"`, []string{`fault column 1: a string is no condition`}},
		{`1`, []string{`fault column 1: a scalar is no condition`}},
		{`conch_is_leader`, []string{`warning column 1: it compares nothing`}},
		{`sum(conch_is_leader) == bool 0`, []string{`warning column 1: it compares nothing`, `warning column 1: it says nothing when nobody is there`}},
		{`conch_is_leadr == 1`, []string{`fault column 1: conch has no metric conch_is_leadr: is conch_is_leader meant?`}},
		{`node_load1 > 3`, []string{`fault column 1: conch has no metric node_load1`}},
		{`{scope="a"} == 1`, []string{`fault column 1: it names no metric`}},
		{`{__name__=~"node_.*"} == 1`, []string{`fault column 1: it selects no metric of conch`}},
		{`{__name__=~"conch_log_.*", scope="a"} == 1`, []string{`fault column 1: such a metric has no label scope`}},
		{`conch_is_leader{scop="a"} == 1`, []string{`fault column 1: conch_is_leader has no label scop: is scope meant?`}},
		{`conch_is_leader{role="a"} == 1`, []string{`fault column 1: conch_is_leader has no label role: here it is called scope`}},
		{`conch_database_up{role="a"} == 0`, []string{`fault column 1: conch_database_up has no label role: it has instance`}},
		{`conch_is_leader{job="a"} == 1`, []string{`fault column 1: conch_is_leader has no label job: only a scrape adds it`}},
		{`sum by (scop) (conch_is_leader) == 1`, []string{`fault column 1: what is grouped here has no label scop: is scope meant?`}},
		{`conch_is_leader == on (peer) conch_leader_epoch`, []string{`fault column 1: what is grouped here has no label peer`}},
		{`rate(conch_leader_failovers_total[5m]) > 5`, []string{`warning column 1: rate is per second: more than 5 means more than 1,500 times in 5m. Did you mean increase(conch_leader_failovers_total[5m])?`}},
		{`1 <= sum by (scope) (irate(conch_leader_failovers_total[1h]))`, []string{`warning column 22: irate is per second: more than 1 means more than 3,600 times in 1h.`}},
		{`rate(conch_leader_failovers_total[5m]) > 0.1`, nil},
		{`rate(conch_gossip_bytes_total[5m]) > 5`, nil},
		{`sum(conch_is_leader{scope="a"}) == 0`, []string{`warning column 1: it says nothing when nobody is there, since then there is nothing to sum: add or absent(conch_is_leader{scope="a"})`}},
		{`(count(conch_is_leader) < 1) or absent(conch_is_leader)`, nil},
		{`sum by (scope) (conch_is_leader) == 0`, nil},
		{`increase(conch_leader_failovers_total[7d]) > 1`, []string{`fault column 10: it looks 1w back, and samples are kept for 6h`}},
		{`conch_is_leader offset 7h == 1`, []string{`fault column 1: it looks 7h back`}},
		{`max_over_time(conch_is_leader[5h:1m] offset 2h) == 0`, []string{`fault column 15: it looks 7h back`}},
		{`conch_is_leader @ 1000 == 1`, []string{`fault column 1: @ asks for a time of its own`}},
		{`conch_is_leader offset -5m == 1`, []string{`fault column 1: the offset lies in the future`}},
		{`max_over_time(conch_is_leader[5m:] @ end()) == 1`, []string{`fault column 15: a condition is evaluated now`}},
		{`histogram_quantile(0.9, sum by (le) (rate(conch_acquire_latency_ms_bucket[5m]))) > 500`, nil},
		{`conch_acquire_latency_ms > 5`, []string{`fault column 1: conch has no metric conch_acquire_latency_ms: is conch_acquire_latency_ms_`}},
		{`go_goroutines{any="label"} > 10000`, nil},
		{`up{instance="n1"} == 0`, nil},
		{`label_replace(conch_is_leader, "team", "$1", "scope", "(.*)-.*") == 1 and on (team) conch_is_leader`, nil},
		{`vector(1) > 0`, nil},
	} {
		got := checked(c.text)
		is := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			is = is && strings.HasPrefix(got[i], c.want[i])
		}
		if !is {
			t.Errorf("%.80s:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

// F9: both alerts of the seed are taken word for word, and what their words are here is said.
func TestTheSeedsConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		nobodyLeads: {
			`warning column 1: forge_leader_is_leader is conch_is_leader here, and its label role is scope here: it is evaluated as sum(conch_is_leader{scope="scheduler"}) == 0`,
			`warning column 1: it says nothing when nobody is there, since then there is nothing to sum: add or absent(conch_is_leader{scope="scheduler"})`,
		},
		`rate(forge_leader_failovers_total[5m]) > 5`: {
			`warning column 1: forge_leader_failovers_total is conch_leader_failovers_total here: it is evaluated as rate(conch_leader_failovers_total[5m]) > 5`,
			`warning column 1: rate is per second: more than 5 means more than 1,500 times in 5m. Did you mean increase(conch_leader_failovers_total[5m])?`,
		},
		`sum by (role) (forge_leader_tenure_seconds) > 5 and on (role) forge_leader_is_leader`: {
			`warning column 1: forge_leader_tenure_seconds is conch_leader_tenure_seconds here, and forge_leader_is_leader is conch_is_leader here, and its label role is scope here: it is evaluated as sum by (scope) (conch_leader_tenure_seconds) > 5 and on (scope) conch_is_leader`,
		},
	} {
		if got := checked(text); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// What a node has to tell is what the conditions name, with how far back each is of use.
func TestNeeds(t *testing.T) {
	t.Parallel()
	needs := Needs(parsed(t, `increase(conch_leader_failovers_total[10m]) > 1 or up == 0`), parsed(t, `max_over_time(conch_leader_failovers_total[5m:1m] offset 1h) > 1`), parsed(t, `{__name__=~"conch_files|conch_files_b.*"} > 1`))
	if got := fmt.Sprint(needs); got != "map[conch_files:0s conch_files_behind:0s conch_files_bytes:0s conch_leader_failovers_total:1h5m0s up:0s]" {
		t.Errorf("got %s", got)
	}
	if got := Names(parsed(t, `up == 0 or conch_is_leader == 1`)); len(got) != 1 || got[0] != "conch_is_leader" {
		t.Errorf("got the names %v, want that of the leader alone: nodes do not tell up", got)
	}
}

// What fails while it is evaluated is an error and no answer.
func TestWhatCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	b := newBed(t, `conch_is_leader`, `conch_candidates`)
	b.pass(2, func() {
		b.tells("n1", `conch_is_leader{scope="a"} 1`, `conch_candidates{scope="a"} 1`, `conch_candidates{scope="b"} 1`)
	})
	for text, want := range map[string]string{
		`{__name__=~"conch_is_leader|conch_candidates"} > 0`: "error: the condition is true for several metrics that have the same labels",
		`conch_is_leader == on () conch_candidates`:          "error: found duplicate series",
		`1`:                   "error: the condition gives no vector",
		`conch_is_leader @ 5`: "error: ",
	} {
		if got := b.gives(text); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// An annotation is written as Prometheus writes it, and what is wrong with it is found before.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`nobody leads {{ $labels.scope }} on {{ .Labels.instance }}: {{ $value }}`, `{{ with $labels.scope }}{{ . }}{{ else }}no scope{{ end }}`, "plain",
	} {
		if err := CheckAnnotation(text, []string{"instance", "scope"}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{{ $labels.scop }}`:            "no member has a label scop: is scope meant?",
		`{{ $labels.zzz }}`:             "no member has a label zzz",
		"x\n{{ $label.scope }}":         `line 2: undefined variable "$label"`,
		`{{ nothing }}`:                 `line 1: function "nothing" not defined`,
		`{{ .Scope }}`:                  "line 1: ",
		`{{ query "up" }}`:              "asks nothing",
		`{{ reReplaceAll "(" "" "x" }}`: "missing closing",
		`{{ "x" | humanize }}`:          "line 1: ",
		`{{ if }}`:                      "line 1: ",
		"\xff":                          "it is no text",
		strings.Repeat("x", mostText+1): "it has 16385 bytes",
		`{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`: "has no range, and no template",
		`{{ range 1000000000000 }}{{ end }}`:                            "has no range",
	} {
		if err := CheckAnnotation(text, []string{"instance", "scope"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	if err := CheckAnnotation(`{{ $labels.scope }} {{ $labels.job }}`, []string{"scope"}); err != nil {
		t.Errorf("a label of a scrape: %v, want none: it is empty here", err)
	}
}

// Bad input: no text makes Parse, Check, Needs or an evaluation panic.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{nobodyLeads, `rate(conch_leader_failovers_total[5m:]) > 5`, `{__name__=~".+"} @ end() offset -1m`, `absent(x) or vector(1)`, `x[5m] == bool on(a) group_left(b) y`, "\"", `label_replace(x, "a", "b", "c", "(")`} {
		f.Add(text)
	}
	b := &bed{}
	b.w = NewWindow(interval, map[string]time.Duration{"conch_is_leader": time.Hour})
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if _, is := errors.AsType[*FaultError](err); !is {
				t.Fatalf("%v is no Fault", err)
			}
			return
		}
		for _, found := range c.Check() {
			if found.Line < 1 || found.Column < 1 || found.Text == "" {
				t.Fatalf("a fault is %+v", found)
			}
		}
		_ = Needs(c)
		_ = b.w.Evaluate(t.Context(), c, time.Unix(1e9, 0))
	})
}
