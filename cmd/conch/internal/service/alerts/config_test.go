package alerts

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

const (
	base    = "[database]\nurl = \"postgres://conch@db/app\"\n[[roles]]\nname = \"a\"\n"
	cluster = base + "[alerting]\ncluster = \"prod\"\n"
)

// desk is a section with receivers, as another service has them.
type desk struct {
	config.Section
	all []alerts.Receiver
}

func (d desk) Receivers() []alerts.Receiver { return d.all }

var (
	pager = alerts.Receiver{Name: "pagerduty", Kind: alerts.Keyed}
	slack = alerts.Receiver{Name: "slack:#ops", Kind: alerts.Text}
)

func load(t testing.TB, text string, receivers ...alerts.Receiver) (config.Config, error) {
	t.Helper()
	return loadFrom(t, config.Source{Named: true}, text, receivers...)
}

func loadFrom(t testing.TB, from config.Source, text string, receivers ...alerts.Receiver) (config.Config, error) {
	t.Helper()
	from.Sections = configtest.Beside(func() config.Section { return desk{configtest.Plain("desks"), receivers} }, func() config.Section { return new(Section) })
	return configtest.Load(t, text, from, nil)
}

func warnings(c config.Config) (all []string) {
	remark(c, time.Time{}, func(key, text string) { all = append(all, c.Fault(key, text).String()) })
	return all
}

// find returns an alert by its name.
func find(s *Section, name string) (a Alert) {
	if at := slices.IndexFunc(s.all, func(a Alert) bool { return a.Name == name }); at >= 0 {
		a = s.all[at]
	}
	return a
}

// seeds are the two alerts of the seed, word for word (F9).
const seeds = `
[[alerts]]
name = "no_scheduler_leader"
condition = "sum(forge_leader_is_leader{role='scheduler'}) == 0"
for = "30s"
severity = "critical"
notify = ["pagerduty"]

[[alerts]]
name = "frequent_failovers"
condition = "rate(forge_leader_failovers_total[5m]) > 5"
severity = "warning"
notify = ["slack:#ops"]
`

// F9: both alerts of the seed are taken word for word; what their words are here, and that the second one is per second, is said.
func TestTheSeedsAlerts(t *testing.T) {
	t.Parallel()
	c, err := load(t, cluster+seeds, pager, slack)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	first := find(s, "no_scheduler_leader")
	second := find(s, "frequent_failovers")
	if first.For != 30*time.Second || first.Severity != "critical" || first.parsed.Text != `sum(conch_is_leader{scope="scheduler"}) == 0` || !reflect.DeepEqual(first.Notify, []string{"pagerduty"}) {
		t.Errorf("the first alert is %+v", first)
	}
	if second.For != 0 || second.parsed.Text != `rate(conch_leader_failovers_total[5m]) > 5` {
		t.Errorf("the second alert is %+v", second)
	}
	said := strings.Join(warnings(c), "\n")
	for _, want := range []string{
		`line 10, alerts[0].condition: alert "no_scheduler_leader": column 1: forge_leader_is_leader is conch_is_leader here, and its label role is scope here`,
		`line 17, alerts[1].condition: alert "frequent_failovers": column 1: rate is per second: more than 5 means more than 1,500 times in 5m. Did you mean increase(conch_leader_failovers_total[5m])?`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the warnings are\n%s\nwant one with %s", said, want)
		}
	}
}

// F9: each key of [alerting] and [[alerts]].
func TestKeys(t *testing.T) {
	t.Parallel()
	c, err := load(t, base+`[alerting]
cluster = "prod"
interval = "20s"
[[alerts]]
name = "waits"
condition = """
max by (queue) (conch_schedule_oldest_ready_seconds)
  > 60"""
for = "1m"
keep_firing_for = "5m"
severity = "info"
notify = []
group_by = ["queue"]
labels = { team = "jobs" }
annotations = { summary = "{{ $labels.queue }} waits" }
[[alerts]]
name = "ConchNobodyLeads"
for = "1m"
notify = ["pagerduty"]
annotations = { runbook = "https://wiki/leader" }
[[alerts]]
name = "ConchJobsWait"
condition = "max by (queue) (conch_schedule_oldest_ready_seconds) > 3600"
`, pager, slack)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	if s.interval != 20*time.Second || len(s.all) != len(Builtin())+1 {
		t.Errorf("got an interval of %v and %d alerts", s.interval, len(s.all))
	}
	rules := map[string]alerts.Rule{}
	for _, r := range s.Rules() {
		rules[r.Name] = r
	}
	waits := rules["waits"]
	if waits.For != time.Minute || waits.Keep != 5*time.Minute || waits.Severity != "info" || len(waits.Notify) != 0 || !slices.Equal(waits.GroupBy, []string{"queue"}) {
		t.Errorf("got %+v", waits)
	}
	if leads := rules["ConchNobodyLeads"]; leads.For != time.Minute || leads.Severity != "critical" || !slices.Equal(leads.Notify, []string{"pagerduty"}) {
		t.Errorf("a built-in alert with other settings is %+v", leads)
	}
	if a := find(s, "ConchNobodyLeads"); a.Annotations["runbook"] == "" || a.Annotations["summary"] == "" || !a.builtin {
		t.Errorf("a built-in alert with another annotation is %+v", a)
	}
	if a := find(s, "ConchJobsWait"); a.builtin || a.For != 0 || a.Severity != "warning" || a.Annotations != nil {
		t.Errorf("a built-in alert with another condition is %+v, want nothing of the built-in one left", a)
	}
	if dead := rules["ConchJobsDead"]; !slices.Equal(dead.Notify, []string{"pagerduty", "slack:#ops"}) {
		t.Errorf("without notify %v are told, want all", dead.Notify)
	}
	if c, err := load(t, base); err != nil || config.Of[*Section](c).interval != DefaultInterval || len(config.Of[*Section](c).all) != len(Builtin()) {
		t.Errorf("without a word about alerts: %v", err)
	}
}

// F9: each fault names its line, its alert, and what to write instead.
func TestFaults(t *testing.T) {
	t.Parallel()
	with := func(lines string) string {
		return cluster + "[[alerts]]\nname = \"x\"\n" + lines + "\n"
	}
	sound := "condition = \"max by (scope) (conch_heartbeat_age_ms) > 5\"\n"
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"no cluster":                {base, []string{"alerting.cluster: is missing"}},
		"a short interval":          {base + "[alerting]\ncluster = \"c\"\ninterval = \"10ms\"\n", []string{"line 7, alerting.interval: 10ms is not between 1s and 5m0s"}},
		"one table":                 {cluster + "[alerts]\nname = \"x\"\n", []string{"[[alerts]]"}},
		"an unknown key":            {with(sound + "fro = \"1m\""), []string{`line 10, alerts[0].fro: unknown key: is "for" meant?`}},
		"no name":                   {cluster + "[[alerts]]\n" + sound, []string{`line 7, alerts[0].name: alert "": a name has 1 to 100 bytes`}},
		"a name twice":              {with(sound + "[[alerts]]\nname = \"x\"\n" + sound), []string{`line 11, alerts[1].name: "x" is the name of alerts[0] already`}},
		"no condition":              {cluster + "[[alerts]]\nname = \"ConchNobodyLead\"\nfor = \"1m\"\n", []string{`line 7, alerts[0].condition: alert "ConchNobodyLead": it has no condition, and is none of the built-in alerts: is ConchNobodyLeads meant?`}},
		"a parse fault":             {with("condition = \"sum(conch_is_leader) = 0\""), []string{`line 9, alerts[0].condition: alert "x": column 22: unexpected "="`}},
		"in the second line":        {with("condition = \"\"\"\nconch_is_leader\n  === 0\"\"\""), []string{`line 9, alerts[0].condition: alert "x": line 2, column 5: unexpected`}},
		"no vector":                 {with("condition = \"conch_is_leader[5m]\""), []string{`alerts[0].condition: alert "x": column 1: a range of points is no condition`}},
		"an unknown metric":         {with("condition = \"conch_is_leadr == 0\""), []string{`alerts[0].condition: alert "x": column 1: conch has no metric conch_is_leadr: is conch_is_leader meant?`}},
		"the seed's label":          {with("condition = \"conch_is_leader{role='a'} == 0\""), []string{`here it is called scope`}},
		"a long range":              {with("condition = \"increase(conch_leader_failovers_total[7d]) > 5\""), []string{`samples are kept for 6h`}},
		"an unknown receiver":       {with(sound + "notify = [\"pagerduti\"]"), []string{`line 10, alerts[0].notify[0]: alert "x": there is no [[notify]] with the name "pagerduti": is "pagerduty" meant?`}},
		"a group of no label":       {with(sound + "group_by = [\"scop\"]"), []string{`alerts[0].group_by[0]: alert "x": no member has a label scop: is "scope" meant?`}},
		"labels that are none":      {with(sound + "labels = [\"a\"]"), []string{"alerts[0].labels: is not a table"}},
		"a label that is no text":   {with(sound + "labels = { a = 1 }"), []string{"alerts[0].labels.a: 1 is not a text"}},
		"a label of ours":           {with(sound + "labels = { severity = \"a\" }"), []string{"alerts[0].labels.severity: alert \"x\": no label can have this name"}},
		"a label with a template":   {with(sound + "labels = { team = \"{{ $value }}\" }"), []string{"a label is a plain text"}},
		"an annotation that fails":  {with(sound + "annotations = { summary = \"{{ $labels.scope\" }"), []string{`alerts[0].annotations.summary: alert "x": line 1: unclosed action`}},
		"an annotation of no label": {with(sound + "annotations = { summary = \"{{ $labels.scop }}\" }"), []string{`no member has a label scop: is scope meant?`}},
		"an annotation's odd name":  {with(sound + "annotations = { \"a b\" = \"x\" }"), []string{`no annotation can have this name`}},
		"a number as a span":        {with(sound + "for = 30"), []string{"alerts[0].for: 30 has no unit"}},
		"a built-in one":            {cluster + "[[alerts]]\nname = \"ConchNobodyLeads\"\nnotify = [\"nobody\"]\n", []string{`alerts[0].notify[0]: alert "ConchNobodyLeads": there is no [[notify]]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text, pager, slack)
			configtest.Faults(t, err, c.says, "SECRET")
		})
	}
	if _, err := load(t, base, slack); err != nil {
		t.Errorf("a cluster without a name that tells people alone: %v, want no fault", err)
	}
}

// What can be evaluated, and may not be what is meant, is no fault.
func TestRemarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"condition = \"max(conch_heartbeat_age_ms) > 5\"\nfor = \"20s\"": `line 10, alerts[0].for: alert "x": 20s is shorter than two intervals of 15s`,
		"condition = \"conch_is_leader\"":                                `line 9, alerts[0].condition: alert "x": column 1: it compares nothing`,
		"condition = \"sum(conch_is_leader) == 0\"":                      `it says nothing when nobody is there`,
		"condition = \"conch_is_leader > 1\"\nseverity = \"urgent\"":     `line 10, alerts[0].severity: alert "x": "urgent" is none of critical`,
	} {
		c, err := load(t, cluster+"[[alerts]]\nname = \"x\"\n"+text+"\n", pager)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(warnings(c), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	var many strings.Builder
	for i := range manyScopes + 1 {
		fmt.Fprintf(&many, "[[roles]]\nname = \"r%d\"\n", i)
	}
	c, err := load(t, cluster+many.String(), pager)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(warnings(c), "\n"); !strings.Contains(got, "one minute is enough") {
		t.Errorf("with many scopes: got %q", got)
	}
}

// F9: the hash of a rule is of when it fires and who is told, and not of how that is written; that of all rules does not depend on
// their order.
func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(text string) string {
		t.Helper()
		c, err := load(t, cluster+text, pager, slack)
		if err != nil {
			t.Fatal(err)
		}
		return config.Of[*Section](c).Hash()
	}
	const a, b = "[[alerts]]\nname = \"a\"\ncondition = \"conch_is_leader > 1\"\n", "[[alerts]]\nname = \"b\"\ncondition = \"conch_is_leader > 2\"\n"
	same := hash(a + b)
	if hash(b+a) != same || hash(a+"annotations = { summary = \"x\" }\n"+b) != same {
		t.Error("another order, or another text, is another hash")
	}
	for _, text := range []string{a, a + "for = \"1m\"\n" + b, a + "keep_firing_for = \"1m\"\n" + b, a + "severity = \"info\"\n" + b, a + "notify = []\n" + b, a + "group_by = [\"scope\"]\n" + b, a + "labels = { x = \"y\" }\n" + b, strings.Replace(a, "> 1", "> 3", 1) + b} {
		if hash(text) == same {
			t.Errorf("%q has the same hash", text)
		}
	}
}

// F9: nodes with a database evaluate together, behind the act door and with a lease into which a message fits, whatever the others have; a node
// without one evaluates what it knows of itself; a file that says nothing of alerts has none.
func TestWhoEvaluates(t *testing.T) {
	t.Parallel()
	const slow = "[election]\nlease = \"30s\"\nheartbeat = \"6s\"\nlate_threshold = \"20s\"\ntakeover = \"fast\"\n"
	roles := func(named bool, text string) []config.Role {
		t.Helper()
		c, err := loadFrom(t, config.Source{Named: named}, text, slack)
		if err != nil {
			t.Fatal(err)
		}
		var own []config.Role
		for _, r := range c.Settled() {
			if r.Section == "alerts" {
				own = append(own, r)
			}
		}
		return own
	}
	if all := roles(true, base); len(all) != 0 {
		t.Errorf("without a word about alerts: %+v", all)
	}
	if all := roles(false, "[node]\nstandalone = true\n[[roles]]\nname = \"a\"\n"+"[alerting]\ncluster = \"c\"\n"); len(all) != 0 {
		t.Errorf("a standalone node leads %+v", all)
	}
	for text, heartbeat := range map[string]time.Duration{cluster: 0, slow + cluster: mostBeat} {
		all := roles(true, text)
		if len(all) != 1 {
			t.Fatalf("%s: got %+v", text, all)
		}
		if r := all[0]; r.Scope != "conch:alerts" || r.Fenced || r.Lease != 15*time.Second || r.LateThreshold != 13500*time.Millisecond || r.Heartbeat != heartbeat || r.Takeover != "strict" {
			t.Errorf("%s: got %+v", text, r)
		}
	}
}

// S33: what is built in is told where nobody leads too: that the database is away, and that nobody evaluates. A Prometheus gets neither, and a user may
// change whom they are told to.
func TestAlertsThatNoConditionSays(t *testing.T) {
	t.Parallel()
	c, err := load(t, cluster+"[[alerts]]\nname = \"conch_database_away\"\nseverity = \"warning\"\nnotify = [\"pagerduty\"]\n", pager, slack)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	rules := map[string]alerts.Rule{}
	for _, r := range s.Rules() {
		rules[r.Name] = r
	}
	for _, name := range []string{alerts.AwayRule, alerts.IdleRule, alerts.DifferRule, alerts.NoDataRule} {
		if r, is := rules[name]; !is || len(r.Notify) == 0 || r.Hash == "" {
			t.Errorf("%s is %+v", name, r)
		}
		if strings.Contains(export(s.all), name) {
			t.Errorf("%s is exported", name)
		}
	}
	if r := rules[alerts.AwayRule]; r.Severity != "warning" || !slices.Equal(r.Notify, []string{"pagerduty"}) {
		t.Errorf("with other settings it is %+v", r)
	}
	if left := s.local(); len(left.all) == 0 || slices.ContainsFunc(left.all, func(a Alert) bool { return !a.EachNode }) {
		t.Errorf("a node alone evaluates %d alerts", len(left.all))
	}
}
