package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

// saysOfAlerts is the first line of the page, by how things stand.
var saysOfAlerts = map[string]string{
	"well": "All is well: 4 rules look, and nothing fires", "trouble": "2 alerts fire: ConchNobodyLeads, too_many_failovers", "empty": "No rule was evaluated yet",
	"stale": "Not known: the database has not answered",
}

// F8, F9: Alerts says in words what fires, since when and of what, who was told and when, and who could not be; what is silenced, by whom and
// until when; what may fire soon; what is over. Where nothing fires it says how many rules look.
func TestAlerts(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.rings("empty")
	b := open(t, n.URL+"/#/alerts", desk)
	b.says(saysOfAlerts["empty"])
	b.says("Nobody is told. A [[notify]] table")
	n.rings("well")
	b.says(saysOfAlerts["well"])
	b.says("node-1 evaluates them each 15 s.")
	n.rings("trouble")
	b.says(saysOfAlerts["trouble"])
	b.until("the title says it too", "document.title.startsWith('✕ 2 alerts fire')")
	for _, want := range []string{
		"1 silenced; 1 may fire soon; 1 rule could not be judged: too_many_failovers; slack:#ops does not take what it is told. 4 rules look: node-1 evaluates them each 15 s.",
		"nobody leads scheduler", "conch status names the obstacle", `scope="scheduler"`, ", for 9 min", "✓ pagerduty told ", "✕ slack:#ops not told, and is tried again: it answers 403 Forbidden: invalid_token",
		"14 members", "? pagerduty told perhaps, and is told again: it did not answer within 10 s", "! slack:#ops is not told yet: node-1 knows why",
		"‖ silenced", "by alice: the mail server moves tonight, INC-4711", "– pagerduty need not be told", "◷ may fire soon", "if it goes on", `alertname="ConchRoleFails" scope=~"mailer|importer"`,
		"its condition selects nothing", "✓ over ConchNobodyLeads nobody leads importer", "for 4 min", "✓ pagerduty told that it is over", "called while alerts are evaluated", ", 2 still to be told",
	} {
		b.says(want)
	}
	if first := js[string](b, "document.querySelector('.stack h2').innerText"); first != "ConchNobodyLeads" {
		t.Errorf("the first alert is of %s, want the urgent one", first)
	}
}

// F8, F9: the first screen says that something fires, at once, and each page beside its tab. A node without alerts has no tab for them.
func TestTheFirstScreenSaysThatSomethingFires(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	tab := "[...document.querySelectorAll('nav a')].find((e) => e.innerText.startsWith('Alerts')).innerText"
	if got := js[string](b, tab); got != "Alerts" {
		t.Errorf("while nothing fires the tab says %q", got)
	}
	n.rings("empty")
	b.says("? Whether an alert fires is not known: nobody evaluates")
	n.rings("trouble")
	b.says("✕ 2 alerts fire: nobody leads scheduler")
	b.until("the tab counts them", tab+" === 'Alerts ✕ 2'")
	b.until("the title says it too", "document.title === '✕ 2 alerts fire · Leaders · conch'")
	b.at("#/events")
	b.until("so it does on other pages", tab+" === 'Alerts ✕ 2'")
	b.at("#/leaders")
	n.mu.Lock()
	n.bells.judged["late"], n.bells.judged["age_ms"] = true, 120_000
	n.tellAlerts()
	n.mu.Unlock()
	b.says("? Whether an alert fires is not known: nobody evaluates")
	b.until("the tab counts nothing that was before", tab+" === 'Alerts ?'")
	n.rings("trouble")
	b.says("✕ 2 alerts fire")
	n.away(43 * time.Second)
	b.says("? Whether an alert fires is not known: the database has not answered")
	b.until("nor while the database is away", tab+" === 'Alerts ?'")
	n.away(0)
	n.rings("well")
	b.until("nothing is said once nothing fires", "!document.querySelector('main .note') && "+tab+" === 'Alerts'")
	b.press("Alerts")
	b.says(saysOfAlerts["well"])
	n.mu.Lock()
	n.parts = []string{"scopes"}
	n.mu.Unlock()
	b = open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	if got := js[string](b, "document.querySelector('nav').innerText"); strings.Contains(got, "Alerts") {
		t.Errorf("a node without alerts has the tabs %s", got)
	}
	n.mu.Lock()
	n.parts = []string{"notify", "scopes"} // the built-in ones are enough
	n.mu.Unlock()
	b = open(t, n.URL+"/", desk)
	b.until("a node with receivers has the tab", "document.querySelector('nav').innerText.includes('Alerts')")
}

// F8, F11: an alert is silenced, a silence is ended and a receiver tested after it was said what that does; a token that may operate is asked for first.
func TestActsOnAlerts(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.rings("trouble")
	n.mu.Lock()
	n.read, n.operate = "read-0123456789abcdef", "operate-0123456789abcdef"
	n.mu.Unlock()
	b := open(t, n.URL+"/#/alerts", desk)
	b.fill("input[type=password]", n.read)
	b.press("Enter")
	b.says(saysOfAlerts["trouble"])
	b.press("Silence…")
	b.says(`Nobody is told that something fires which has alertname="ConchNobodyLeads" scope="scheduler"`)
	b.says("When the silence ends, what still fires is told at once.")
	b.fill("dialog input[type=password]", n.operate)
	b.press("Unlock")
	b.press("Silence it")
	b.says("Say why, for those who find it silenced.")
	b.fill("dialog input", "we know")
	b.press(`scope="scheduler"`)
	b.until("it is of all scopes", `!document.querySelector('dialog .what').innerText.includes('scheduler')`)
	b.press(`scope="scheduler"`)
	b.press("Silence it")
	b.says("It is silenced until")
	b.press("Close")
	b.says("1 alert fires: too_many_failovers")
	b.says("by bob: we know")
	b.press("End…")
	b.says("What of 1 alert still fires is told at once.")
	b.press("End it")
	b.says("It has ended.")
	b.press("Close")
	b.press("Test…")
	b.says("Somebody may be woken.")
	b.press("Tell it")
	b.says("It has taken the test.")
	b.press("Close")
	n.mu.Lock()
	n.bells.tries = object{"receiver": "pagerduty", "answer": "refused", "why": "it answers 403 Forbidden: " + hostile, "took_ms": 90}
	n.mu.Unlock()
	b.press("Test…")
	b.press("Tell it")
	b.says("✕ It refuses it: it answers 403 Forbidden: <img src=x onerror=alert(1)>/")
	b.inert("the test of a receiver")
	n.mu.Lock()
	defer n.mu.Unlock()
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	got := id.ReplaceAllString(strings.Join(n.bells.asked, "\n"), "ID")
	const test = `/v1/receiver/test {"receiver":"pagerduty"}`
	want := `/v1/silences {"comment":"we know","for":"2h","id":"ID","matchers":[{"label":"alertname","op":"=","value":"ConchNobodyLeads"},{"label":"scope","op":"=","value":"scheduler"}]}` + "\n/v1/silences/ID/end {}\n" + test + "\n" + test
	if got != want {
		t.Errorf("asked for\n%s\nwant\n%s", got, want)
	}
}

// F8, rule 1: nothing is told as if it fired now while the database is away, or while nobody evaluates; then a silence can be set all the same.
func TestAlertsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.rings("trouble")
	b := open(t, n.URL+"/#/alerts", desk)
	b.says(saysOfAlerts["trouble"])
	unknown := func(when string) {
		t.Helper()
		for what, expression := range map[string]string{
			"a state is told":        "document.querySelector('main .state:not(.unknown)')",
			"something has a colour": "[...document.querySelectorAll('main :is(.good, .bad, .warn):not(.state)')].some((e) => e.offsetWidth > 0)",
			"an age goes on":         "document.querySelector('.stack').innerText.includes(', for ')",
			"what was is forgotten":  "document.querySelectorAll('.stack > li').length !== 4",
		} {
			if js[bool](b, "!!("+expression+")") {
				t.Errorf("%s %s", when, what)
			}
		}
	}
	n.mu.Lock()
	n.bells.judged = object{"at": moment(-3 * time.Minute), "age_ms": 180_000, "node": "node-1", "interval_ms": 15_000, "late": true}
	n.tellAlerts()
	n.mu.Unlock()
	b.says("Nobody evaluates the alerts")
	b.says("The last evaluation was 3 min ago, by node-1.")
	unknown("while nobody evaluates")
	b.until("a silence can be set", "document.querySelector('.stack button:not(:disabled)')")
	n.away(43 * time.Second)
	b.says(saysOfAlerts["stale"])
	unknown("while the database is away")
	if js[bool](b, "!!document.querySelector('main button:not(:disabled):not(.quiet)')") {
		t.Error("while the database is away a button does something")
	}
	n.away(0)
	n.rings("trouble")
	b.says(saysOfAlerts["trouble"])
	n.mu.Lock()
	n.bells.none = true
	n.mu.Unlock()
	b.says("This node has no alerts")
	b.at("#/leaders")
	b.says("All 8 scopes are led")
	b.until("the first screen claims nothing of them", "!document.querySelector('main .note, nav b')")
}

// F8, S32, rule 4: names and words of others are texts here too.
func TestWordsOfAlertsAreTexts(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.rings("trouble")
	n.mu.Lock()
	a := n.bells.alerts[0]
	for _, key := range []string{"rule", "severity", "summary", "description"} {
		a[key] = hostile
	}
	a["members"] = []object{{"labels": object{hostile: hostile}, "value": hostile, "state": "firing", "since": moment(-time.Minute)}, {"labels": object{"a": hostile}, "value": "1", "state": "firing", "since": moment(-time.Minute)}}
	a["labels"], a["tellings"] = object{hostile: hostile}, []object{telling(hostile, "failing", "nothing", 0, hostile)}
	n.bells.silences[0]["by"], n.bells.silences[0]["comment"], n.bells.silences[0]["matchers"] = hostile, hostile, []object{{"label": hostile, "op": "=", "value": hostile}}
	n.bells.rules[0]["rule"], n.bells.rules[0]["condition"], n.bells.rules[0]["trouble"] = hostile, hostile, object{"since": moment(-time.Minute), "no_data": false, "why": hostile}
	n.bells.receivers[0]["receiver"], n.bells.receivers[0]["why"] = hostile, hostile
	n.bells.judged["node"] = hostile
	n.mu.Unlock()
	for _, as := range []look{desk, phone} {
		b := open(t, n.URL+"/", as)
		b.says("alerts fire")
		b.inert("the first screen")
		b.at("#/alerts")
		b.settled()
		js[bool](b, "[...document.querySelectorAll('details')].forEach((e) => (e.open = true)); true")
		b.until("the code point is drawn", "document.querySelector('main').innerText.includes('U+202E')")
		b.inert("the page")
		b.press("Silence…")
		b.until("it asks", "document.querySelector('dialog[open]')")
		b.inert("the dialog")
	}
}

// Rule 7: axe-core finds nothing serious on the page and in its dialogs, and nothing is wider than its screen.
func TestAxeOnAlerts(t *testing.T) {
	t.Parallel()
	n := watched(t)
	stands := []string{"trouble", "stale"}
	if runtest.Whole() {
		stands = append(stands, "well", "empty")
	}
	for _, as := range axed() {
		n.away(0)
		b := open(t, n.URL+"/#/alerts", as)
		for _, is := range stands {
			standAlerts(n, is)
			b.at("#/alerts")
			b.says(saysOfAlerts[is])
			js[bool](b, "[...document.querySelectorAll('details')].forEach((e) => (e.open = true)); true")
			b.serious("alerts " + is)
			b.at("#/leaders")
			b.settled()
			b.serious("leaders " + is)
		}
		standAlerts(n, "trouble")
		b.at("#/alerts")
		for _, button := range []string{"Silence…", "End…", "Test…"} {
			b.press(button)
			b.until("it asks", "document.querySelector('dialog[open]')")
			b.serious(button)
			b.press("Leave it")
		}
		b.close()
	}
}

// standAlerts has them stand in a way; what is stale was in trouble.
func standAlerts(n *node, is string) {
	stand(n, map[string]string{"stale": "stale", "trouble": "trouble"}[is])
	if is != "stale" {
		n.rings(is)
	}
}

// bellSays asks whether the tab of alerts says how they stand.
func bellSays(is string) string {
	want := map[string]string{"empty": "?", "well": "", "trouble": "✕ 2", "stale": "?"}[is]
	return fmt.Sprintf(`(document.querySelector("nav a[href='#/alerts'] b")?.innerText.trim() ?? '') === %q`, want)
}

// Pictures of the page, for people to look at.
func TestPicturesOfAlerts(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		t.Skip("nobody wants pictures: CONCH_PICTURES names a folder for them")
	}
	n := watched(t)
	for name, as := range looks {
		as.height *= 2
		b := open(t, n.URL+"/#/alerts", as)
		for _, is := range []string{"empty", "well", "trouble", "stale"} {
			standAlerts(n, is)
			b.at("#/alerts")
			b.says(saysOfAlerts[is])
			b.until("the tab has its count", bellSays(is))
			b.picture(filepath.Join(dir, fmt.Sprintf("alerts-%s-%s.png", is, name)))
			b.at("#/leaders")
			b.settled()
			b.until("the tab has its count", bellSays(is))
			b.picture(filepath.Join(dir, fmt.Sprintf("leaders-%s-alerts-%s.png", is, name)))
		}
		standAlerts(n, "trouble")
		b.at("#/alerts")
		b.press("Silence…")
		b.until("it asks", "document.querySelector('dialog[open]')")
		b.picture(filepath.Join(dir, "alerts-silence-"+name+".png"))
		b.close()
	}
}
