package ui_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

const hostile = "<img src=x onerror=alert(1)>/\u202eevil\u2066 &amp; \"q\"/a%2Fc?d#e"

// team is eight scopes of three nodes that are all led, and how that came about.
func team() []row {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d).UTC().Truncate(time.Millisecond) }
	all := []string{"node-1", "node-2", "node-3"}
	led := func(scope, holder string, epoch int64, since time.Duration) row {
		return row{Scope: scope, State: "led", Epoch: epoch, Holder: holder, AcquiredAt: ago(since), HeartbeatAgeMS: 320, LeaseMS: 3000, Candidates: all}
	}
	return []row{
		led("importer", "node-1", 41, 9*time.Minute), led("log-compactor", "node-1", 4, 72*time.Hour), led("mailer", "node-3", 9, 20*time.Minute),
		led("metrics-aggregator", "node-1", 4, 70*time.Hour), led("payments", "node-3", 32, 14*time.Minute),
		led("pending:evm:1337:0x4b7b9fc89d0a3cbb0e1b1c1e7a8a3cbb0e1b1c1e", "node-2", 19, 2*time.Hour), led("reports", "node-2", 6, 26*time.Hour),
		led("scheduler", "node-2", 12, 2*time.Hour),
	}
}

// hurt makes three of them need somebody.
func hurt(rows []row) []row {
	for i := range rows {
		switch r := &rows[i]; r.Scope {
		case "scheduler":
			r.State, r.HeartbeatAgeMS = "nobody", 41_000
			r.Obstacle = "its row is locked by pid 12776 (migrate-tool), in a transaction for 41 s: SELECT pg_terminate_backend(12776)"
		case "log-compactor":
			r.Holder, r.State, r.HeartbeatAgeMS = "payroll-prod-6d5b9c7f8-x2k4q", "late", 3400
			r.Candidates = []string{"node-1", "node-3", "payroll-prod-6d5b9c7f8-x2k4q"}
		case "mailer":
			r.State, r.Failures, r.LastFailure = "fails", 4, "the command ended with code 3"
		case "payments":
			r.State = "holding"
		}
	}
	return rows
}

// past is what happened to them.
func past() (events []event) {
	gap := func(d time.Duration) *int64 { ms := d.Milliseconds(); return &ms }
	now := time.Now().UTC().Truncate(time.Millisecond)
	add := func(before time.Duration, e event) {
		e.At = now.Add(-before)
		events = append(events, e)
	}
	hand := func(before time.Duration, scope, from, to string, epoch int64, took time.Duration, how, ended, reason, actor string) {
		add(before+took, event{Scope: scope, Epoch: epoch - 1, Holder: from, Event: ended, Reason: reason, Actor: actor})
		add(before, event{Scope: scope, Epoch: epoch, Holder: to, Event: "acquired", Reason: how, GapMS: gap(took)})
	}
	hand(26*time.Hour, "reports", "node-1", "node-2", 6, 9*time.Millisecond, "handoff", "transferred", "", "bob")
	// The night: a session that nobody could end kept everybody from payments, and for a part of it nobody led mailer either.
	hand(11*time.Hour, "payments", "node-2", "node-1", 31, 23*time.Minute, "takeover", "lost", "its session ended without a farewell", "")
	add(11*time.Hour+22*time.Minute, event{Scope: "payments", Epoch: 30, Holder: "node-2", Event: "blocked", Reason: "its fence is held by pid 12776 (migrate-tool) (to end it: SELECT pg_terminate_backend(12776)), not ended: permission denied: a member of pg_signal_backend may"})
	hand(11*time.Hour+5*time.Minute, "mailer", "node-2", "node-3", 8, 2*time.Minute, "takeover", "lost", "its session ended without a farewell", "")
	hand(2*time.Hour+time.Minute, "pending:evm:1337:0x4b7b9fc89d0a3cbb0e1b1c1e7a8a3cbb0e1b1c1e", "node-1", "node-2", 19, 12*time.Millisecond, "takeover", "lost", "its session ended without a farewell", "")
	hand(2*time.Hour, "scheduler", "node-1", "node-2", 12, 31*time.Millisecond, "handoff", "drained", "", "alice")
	for i := range 24 {
		from, to := "node-2", "node-1"
		if i%2 == 0 {
			from, to = to, from
		}
		hand(time.Duration(24-i)*24*time.Minute+9*time.Minute-24*time.Minute, "importer", from, to, int64(18+i), 3100*time.Millisecond, "takeover", "lost", "no heartbeat in a lease", "")
	}
	hand(20*time.Minute, "mailer", "node-3", "node-3", 9, 20*time.Millisecond, "handoff", "failed", "the command ended with code 3", "")
	hand(14*time.Minute, "payments", "node-1", "node-3", 32, 534*time.Millisecond, "takeover", "lost", "its session ended without a farewell", "")
	sortEvents(events)
	return events
}

// watched is a node with a team and its past.
func watched(t *testing.T) *node {
	t.Helper()
	n := newNode(t, "/")
	rows := team()
	n.happened(past()...)
	n.set(rows...)
	return n
}

// F8: the first line says in words how things stand, and says something else as soon as that changes, without a reload.
func TestTheFirstLineSaysHowThingsStand(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/")
	b := open(t, n.URL+"/", desk)
	b.says("There is no scope yet")
	js[bool](b, "self.same = true")
	rows := team()
	n.happened(past()...)
	n.set(rows...)
	b.says("All 8 scopes are led")
	b.says("Led by 3 nodes.")
	b.says("importer to node-1, 3.1 s without a leader")
	n.set(hurt(team())...)
	b.says("1 of 8 scopes has no leader")
	b.says("Nobody leads scheduler; 1 with a late heartbeat; 1 whose role fails; 1 holding. The others are led.")
	if first := js[string](b, "document.querySelector('.card h2').innerText"); first != "scheduler" {
		t.Errorf("the first card is of %s, want that of the scope without a leader", first)
	}
	b.says("its row is locked by pid 12776")
	b.says("Its role failed 4 times in ten minutes: the command ended with code 3")
	b.until("the title says it too", "document.title.includes('1 of 8 scopes has no leader')")
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// F8, rule 1: with the database away nothing on the page is told as if it were so now, and no button does anything; once it is back
// the page is live without a reload, and tells no event twice.
func TestStaleIsAStateOfEverything(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	js[bool](b, "self.same = true")
	high := js[int](b, "document.querySelector('header').offsetHeight")
	n.away(43 * time.Second)
	b.says("Not known: the database has not answered for 4")
	for what, expression := range map[string]string{
		"the page moves down by a line":                fmt.Sprintf("document.querySelector('header').offsetHeight !== %d", high),
		"a card says how its scope stands":             "[...document.querySelectorAll('.card .state')].some((e) => !e.innerText.includes('not known now'))",
		"a card says that its holder beats":            "document.querySelector('main').innerText.includes('beats')",
		"a button hands over":                          "[...document.querySelectorAll('.card button')].some((e) => !e.disabled)",
		"a card has the colour of a scope that is led": "document.querySelector('.card.good')",
		"the bar says live":                            "document.querySelector('header .live').innerText.includes('live')",
		"the list of leaders has numbers":              "[...document.querySelectorAll('aside .number')].some((e) => e.innerText !== '?')",
		"the title says that all is well":              "!document.title.includes('not known')",
		"a lease has something left":                   "[...document.querySelectorAll('.track i')].some((e) => e.offsetWidth > 0)",
		"the page has forgotten what was before":       "document.querySelectorAll('.card').length !== 8",
	} {
		if js[bool](b, "!!("+expression+")") {
			t.Errorf("while the database is away %s", what)
		}
	}
	n.happened(event{At: time.Now().UTC(), Scope: "payments", Epoch: 33, Holder: "node-1", Event: "acquired", Reason: "takeover", GapMS: new(int64)})
	n.away(0)
	b.says("All 8 scopes are led")
	b.until("the buttons are on", "document.querySelectorAll('.card button:not(:disabled)').length === 8")
	b.at("#/events?scope=payments")
	b.until("the events of one scope are there", "document.querySelectorAll('.virtual .row').length > 0 && document.querySelectorAll('.virtual .row').length < 10")
	if told := js[int](b, "[...document.querySelectorAll('.virtual .row')].filter((r) => r.innerText.includes('epoch 33')).length"); told != 1 {
		t.Errorf("the event is there %d times, want once", told)
	}
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// F8, rule 1: a node that says nothing more is not known either. Its connection is open, as with a host that was cut off.
func TestANodeThatFallsSilentIsNotKnown(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	pgtest.Eventually(t, patience, "the page reads the stream", func() bool { // the line stands before
		now, _ := n.streams()
		return now == 1
	})
	n.mu.Lock()
	silent := n.open
	n.open = map[chan string]struct{}{}
	n.mu.Unlock()
	b.says("Not known: node-2 has not answered for")
	n.mu.Lock()
	for one := range silent { // and comes back
		close(one)
	}
	n.mu.Unlock()
	b.says("All 8 scopes are led")
}

// F8: a node that was started again counts its readings from the first, and the page shows what it says then.
func TestANodeThatWasStartedAgain(t *testing.T) {
	t.Parallel()
	n := watched(t)
	for range 5 {
		n.set(team()...)
	}
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	n.again(hurt(team())...)
	b.says("1 of 8 scopes has no leader")
}

// F8, rule 2: ten tabs have one stream, and are all live; when the one that reads it is closed, the next reads on.
func TestTenTabsHaveOneStream(t *testing.T) {
	t.Parallel()
	n := watched(t)
	tabs := []*tab{open(t, n.URL+"/", desk)}
	tabs[0].says("All 8 scopes are led")
	for range 9 {
		tabs = append(tabs, open(t, n.URL+"/", desk))
	}
	for _, b := range tabs {
		b.until("it is live", "document.querySelector('header .live')?.innerText.includes('live')")
	}
	if now, ever := n.streams(); now != 1 || ever != 1 {
		t.Errorf("ten tabs have %d streams, and had %d, want one", now, ever)
	}
	n.set(hurt(team())...)
	for _, b := range tabs {
		b.says("1 of 8 scopes has no leader")
	}
	tabs[0].close()
	n.set(team()...)
	for _, b := range tabs[1:] {
		b.says("All 8 scopes are led")
		b.until("it is live", "document.querySelector('header .live').innerText.includes('live')")
	}
	if now, ever := n.streams(); now != 1 || ever != 2 {
		t.Errorf("after the first was closed there are %d streams, and %d were opened, want one and two", now, ever)
	}
}

// F8, rule 3: behind a proxy that holds the stream back the page asks, and says so.
func TestAProxyHoldsTheStreamBack(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.mu.Lock()
	n.held = true
	n.mu.Unlock()
	b := open(t, n.URL+"/", desk)
	b.says("a proxy holds the stream back")
	b.says("All 8 scopes are led")
	n.set(hurt(team())...)
	b.says("1 of 8 scopes has no leader")
}

// F8, S32, rule 4: what others have named is a text on every page, with code points for what cannot be seen, and a handover names it exactly.
func TestNamesAreTexts(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/")
	names := []string{hostile, "a/b%2Fc?d#e", fmt.Sprintf("%.200s", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀")[:200]}
	var rows []row
	for i, name := range names {
		rows = append(rows, row{Scope: name, State: "led", Epoch: 7, Holder: hostile + "-holder", AcquiredAt: time.Now().UTC(), LeaseMS: 3000, Candidates: []string{hostile + "-holder", "node-2"}, Obstacle: hostile})
		n.happened(event{At: time.Now().UTC(), Scope: name, Epoch: int64(i + 1), Holder: hostile, Event: "lost", Reason: hostile, Actor: hostile},
			event{At: time.Now().UTC(), Scope: name, Epoch: 7, Holder: hostile, Event: "acquired", Reason: hostile})
	}
	rows[0].State, rows[0].LastFailure, rows[0].Failures = "fails", hostile, 2
	n.set(rows...)
	b := open(t, n.URL+"/", desk)
	b.says("has failed in the last ten minutes")
	for _, hash := range []string{"#/leaders", "#/events", "#/timeline", "#/leaders/s?scope=" + urlEncoded(hostile)} {
		b.at(hash)
		b.until("the code point is drawn on "+hash+", or its lane", "document.querySelector('main').innerText.includes('U+202E') || document.querySelector('.lane-box canvas')")
		if js[bool](b, "document.querySelectorAll('img').length > 0 || /[\\u202e\\u2066]/.test(document.documentElement.outerHTML.replace(/value=\"[^\"]*\"/g, ''))") {
			t.Errorf("%s has an image, or a code point that turns text around", hash)
		}
		if wide := js[int](b, "document.documentElement.scrollWidth"); wide > 1440 {
			t.Errorf("%s is %d pixels wide", hash, wide)
		}
	}
	for i, name := range names {
		b.at("#/leaders/s?scope=" + urlEncoded(name))
		b.press("Hand over…")
		b.says("leads at epoch 7")
		b.press("Hand over")
		b.says("the history names bob as the one that asked")
		b.press("Close")
		n.mu.Lock()
		if len(n.drains) != i+1 || n.drains[i]["scope"] != name || n.drains[i]["if_epoch"] != 7.0 {
			t.Errorf("asked for %v, want the handover of %q at epoch 7", n.drains, name)
		}
		n.mu.Unlock()
	}
}

// S32, rule 5: the token goes in a header, the one that reads is kept in the tab, the one that operates is asked for at the first action and
// kept nowhere. There is no cookie: every tab is looked at when its test ends.
func TestTokens(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.mu.Lock()
	n.read, n.operate = "read-0123456789abcdef", "operate-0123456789abcdef"
	n.mu.Unlock()
	b := open(t, n.URL+"/", desk)
	b.says("This node asks for a token")
	b.fill("input[type=password]", "wrong-0123456789abcdef")
	b.press("Enter")
	b.says("the token is not known")
	b.fill("input[type=password]", n.read)
	b.press("Enter")
	b.says("All 8 scopes are led")
	b.says("alice, may read")
	b.at("#/leaders/s?scope=payments")
	b.press("Hand over…")
	b.says("The history shows the name of your token")
	b.fill("dialog input[type=password]", n.operate)
	b.press("Unlock")
	b.press("Hand over")
	b.says("the history names bob")
	b.press("Close")
	b.says("may operate · lock")
	kept := js[string](b, "JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.documentElement.outerHTML")
	if strings.Contains(kept, n.operate) || !strings.Contains(kept, n.read) {
		t.Errorf("kept are %.200s, want the token that reads alone", kept)
	}
	other := open(t, n.URL+"/", desk)
	other.says("All 8 scopes are led") // it has the token from the tab that is open
	b.press("may operate · lock")
	b.until("it is locked", "!document.body.innerText.includes('may operate · lock')")
}

// F8, rule 6: a link shows the same view, also below a path of a proxy.
func TestALinkShowsTheSameView(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/teams/blue/")
	rows := team()
	n.happened(past()...)
	n.set(rows...)
	b := open(t, n.URL+"/teams/blue/#/events?scope=payments&event=acquired", desk)
	b.says("by takeover after 534 ms")
	if shown := js[int](b, "document.querySelectorAll('.virtual .row').length"); shown != 2 {
		t.Errorf("%d events are shown, want the 2 that the link selects", shown)
	}
	b.at("#/leaders/s?scope=payments")
	b.says("p50 534 ms, p99 534 ms, of 2 changes of hands")
}

// F8: the timeline says why a scope had no leader last night, in words too: how the last leadership ended, what kept others from it, whether others
// had none either, and where the history says no more.
func TestTheTimelineSaysWhyNobodyLed(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/#/timeline?w=24h", desk)
	b.says("Longest times without a leader in view")
	first := "(document.querySelector('tbody tr')?.innerText ?? '').replaceAll('\\u00a0', ' ')"
	b.until("the longest is the first", first+".includes('payments') && "+first+".includes('23 min') && "+first+".includes('lost it: its session ended without a farewell')")
	js[bool](b, "document.querySelector('tbody button').click(); true")
	b.says("nobody led from")
	b.says("Why: lost it: its session ended without a farewell; then nobody could take it: its fence is held by pid 12776 (migrate-tool)")
	b.says("a member of pg_signal_backend may. Then")
	b.says("led, at epoch 31. In that time nobody led 1 other scope either: look at what they have in common")
	b.until("it is in the link", "location.hash.includes('sel=')")
	for _, as := range []look{phone, desk} {
		b.resize(as)
		b.until("the lanes are as the screen is wide", "Boolean(document.querySelector('.lane-names')) === (innerWidth >= 700) && document.querySelector('.lane-box canvas').offsetHeight > "+map[look]string{phone: "300", desk: "200"}[as])
		if out := js[string](b, "[...document.querySelectorAll('tbody td')].filter((e) => e.getBoundingClientRect().right > innerWidth || e.offsetHeight > 200).map((e) => e.innerText).join(', ')"); out != "" {
			t.Errorf("at a width of %d the table has out of sight: %q", as.width, out)
		}
		js[bool](b, "[...document.querySelectorAll('tbody button')].find((e) => e.innerText === 'mailer').click(); true")
		b.until("what was chosen is in sight", "document.querySelector('.chosen').innerText.includes('mailer') && document.querySelector('.chosen').getBoundingClientRect().bottom < innerHeight + 2 && document.querySelector('.chosen').getBoundingClientRect().top > -2")
		js[bool](b, "document.querySelector('tbody button').click(); true")
	}
	b.until("one of which no more was recorded says so", "[...document.querySelectorAll('tbody tr')].some((e) => e.innerText.includes('mailer') && e.innerText.includes('its session ended without a farewell; what kept others from it was not recorded'))")
	if longest := js[int](b, "document.querySelectorAll('tbody tr').length"); longest != 10 {
		t.Errorf("%d times are in the table, want the ten longest", longest)
	}
	if drawn := js[int](b, drawnColours("0x2f5fd0, 0x7d33c4, 0x08769a, 0xc3202b, 0xc47a10, 0x7a8494")); drawn != 6 {
		t.Errorf("%d colours are on the lanes, want three holders and three grades", drawn)
	}
	js[bool](b, "document.querySelector('.lane-box canvas').dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true })); true")
	b.until("the keys zoom", "/from=\\d+&to=\\d+/.test(location.hash)")
}

// F8: before the history was read the timeline says that nothing is known, and not that nobody was without a leader.
func TestAnUnreadTimelineClaimsNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/")
	n.mu.Lock()
	n.lost = "/v1/history"
	n.mu.Unlock()
	b := open(t, n.URL+"/#/timeline", desk)
	b.says("The history could not be read")
	if text := js[string](b, "document.body.innerText"); strings.Contains(text, "was led all the time") || !strings.Contains(text, "Not known: the history could not be read.") {
		t.Errorf("the page says %q, want that nothing is known", text)
	}
}

// F8, rule 1: what goes on is not told as if it did so now, on the timeline either, while the database is away.
func TestTheEndOfATimelineIsNotKnown(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.set(hurt(team())...)
	b := open(t, n.URL+"/#/timeline?w=24h", desk)
	b.says("nobody yet")
	b.until("a time that goes on grows", "/✕ 4[3-9]\\s+s/.test(document.querySelector('main').innerText)")
	n.away(43 * time.Second)
	b.says("the end of each lane is not known now")
	js[bool](b, "[...document.querySelectorAll('tbody button')].find((e) => e.innerText === 'scheduler').click(); true")
	b.says("until it was not known any more")
	if text := js[string](b, "document.querySelector('main').innerText"); strings.Contains(text, "nobody yet") || strings.Contains(text, "until now") || strings.Contains(text, "in the way now") {
		t.Errorf("while the database is away the page says %q", text)
	}
}

// F8: a name stays on its line, and what happened can be read to its end on a phone too.
func TestNothingOfAnEventIsCutOff(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.set(hurt(team())...)
	for _, as := range []look{desk, phone} {
		b := open(t, n.URL+"/#/leaders", as)
		b.says("payroll-p")
		for _, hash := range []string{"#/leaders", "#/timeline?w=24h", "#/events"} {
			b.at(hash)
			b.until("its heading is there", "document.querySelector('main h1') && document.querySelector('main .holder')")
			if broken := js[string](b, "[...document.querySelectorAll('main .holder')].filter((e) => e.getClientRects().length > 1 || e.offsetHeight > 34).map((e) => e.innerText).join(', ')"); broken != "" {
				t.Errorf("at a width of %d %s breaks the names %q", as.width, hash, broken)
			}
			if cut := js[string](b, "[...document.querySelectorAll('.card h2')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText).join(', ')"); cut != "" {
				t.Errorf("at a width of %d %s cuts off the names %q", as.width, hash, cut)
			}
		}
		b.until("its events are there", "document.querySelectorAll('.virtual .row').length > 8")
		if cut := js[string](b, "[...document.querySelectorAll('.virtual .row > :nth-child(4)')].filter((e) => !/fence is held/.test(e.innerText) && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 2)).map((e) => e.innerText).join(', ')"); cut != "" {
			t.Errorf("at a width of %d events are cut off: %q", as.width, cut)
		}
	}
}

// F8: a cluster that is a minute old shows that minute, not an empty hour; its timeline names those that have bars, also who leads no more, and
// says that nobody campaigns for a scope without a leader.
func TestAYoungCluster(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/")
	ago := func(s int) time.Time { return time.Now().Add(-time.Duration(s) * time.Second).UTC() }
	gap := int64(600)
	n.happened(event{At: ago(40), Scope: "demo", Epoch: 1, Holder: "node-1", Event: "acquired", Reason: "first"},
		event{At: ago(20), Scope: "demo", Epoch: 1, Holder: "node-1", Event: "lost", Reason: "its session ended without a farewell"},
		event{At: ago(19), Scope: "demo", Epoch: 2, Holder: "node-2", Event: "acquired", Reason: "takeover", GapMS: &gap},
		event{At: ago(30), Scope: "alone", Epoch: 1, Holder: "node-1", Event: "acquired", Reason: "first"})
	n.set(row{Scope: "demo", State: "led", Epoch: 2, Holder: "node-2", AcquiredAt: ago(19), LeaseMS: 3000, HeartbeatAgeMS: 300, Candidates: []string{"node-2"}},
		row{Scope: "alone", State: "nobody", Epoch: 1, Holder: "node-1", AcquiredAt: ago(30), LeaseMS: 3000, HeartbeatAgeMS: 19_000, Candidates: []string{}})
	b := open(t, n.URL+"/#/leaders", desk)
	b.says("Nobody leads alone. The others are led.")
	b.until("the strip is of a minute", "[...document.querySelectorAll('.card .strip')].some((e) => e.getAttribute('aria-label') === 'The last minute: 2 terms, 1 time without a leader' && e.querySelector('rect').width.baseVal.value > 200)")
	b.at("#/timeline")
	b.until("both holders are named below the lanes", "['node-1', 'node-2'].every((h) => document.querySelector('.legend').innerText.includes(h))")
	b.says("its leader is gone; no candidate is connected to the database")
}

// drawnColours counts those of some colours that are on the lanes.
func drawnColours(some string) string {
	return `(() => {
		const c = document.querySelector('.lane-box canvas')
		const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
		const seen = new Set()
		for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2])
		return [` + some + `].filter((c) => seen.has(c)).length
	})()`
}

// F8: a thousand scopes are a table that draws what is in view, those that need somebody first, on a phone too.
func TestAThousandScopes(t *testing.T) {
	t.Parallel()
	n := newNode(t, "/")
	n.set(crowd(1000)...)
	for _, as := range []look{desk, phone} {
		b := open(t, n.URL+"/", as)
		b.says("2 of 1,000 scopes have no leader")
		if first := js[string](b, "document.querySelector('.virtual .row').innerText"); !strings.Contains(first, "nobody leads") {
			t.Errorf("the first row is %q", first)
		}
		if drawn := js[int](b, "document.querySelectorAll('.virtual .row').length"); drawn < 10 || drawn > 90 {
			t.Errorf("%d rows are drawn, want those in view", drawn)
		}
		b.fits("it")
		b.press("Only trouble (3)")
		b.until("only those are there", "document.querySelectorAll('.virtual .row').length === 3")
		b.press("Only trouble (3)")
		js[bool](b, "document.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true })); true")
		b.until("the key focuses the filter", "document.activeElement.id === 'filter'")
		b.fill("#filter", "tenant-00777")
		b.until("only that one is there", "document.querySelectorAll('.virtual .row').length === 1")
	}
}

// crowd is many scopes, of which three need somebody.
func crowd(many int) (rows []row) {
	for i := range many {
		r := row{Scope: fmt.Sprintf("tenant-%05d/billing", i), State: "led", Epoch: 3, Holder: fmt.Sprintf("node-%d", i%3+1), AcquiredAt: time.Now().Add(-time.Hour).UTC(), LeaseMS: 3000, HeartbeatAgeMS: 300, Candidates: []string{"node-1", "node-2", "node-3"}}
		switch i {
		case 311, 312:
			r.State, r.Obstacle = "nobody", "no candidate has the privilege to fence"
		case 712:
			r.State, r.Failures, r.LastFailure = "fails", 3, "the command ended with code 3"
		}
		rows = append(rows, r)
	}
	return rows
}

// Rule 7: axe-core finds nothing serious on any page, light or dark, wide or narrow, well, in trouble or stale.
func TestAxeFindsNothingSerious(t *testing.T) {
	t.Parallel()
	n := watched(t)
	for _, as := range axed() {
		b := open(t, n.URL+"/", as)
		for _, is := range []string{"well", "trouble", "stale"} {
			stand(n, is)
			b.until("it is "+is, map[string]string{
				"well": "document.title.startsWith('All 8')", "trouble": "document.title.includes('no leader')", "stale": "document.title.includes('not known')",
			}[is])
			for _, hash := range []string{"#/leaders", "#/leaders/s?scope=scheduler", "#/events", "#/timeline"} {
				b.at(hash)
				b.until("its heading is there", "document.querySelector('h1')")
				b.serious(hash + " " + is)
			}
		}
		stand(n, "well")
		js[bool](b, "document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true })); true")
		b.says("next and previous row")
		b.serious("the list of keys")
	}
}

func stand(n *node, is string) {
	n.away(0)
	switch is {
	case "well":
		n.set(team()...)
	case "trouble":
		n.set(hurt(team())...)
	case "stale":
		n.away(43 * time.Second)
	}
}

// Pictures of all pages for people to look at: CONCH_PICTURES names a folder for them.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		t.Skip("nobody wants pictures: CONCH_PICTURES names a folder for them")
	}
	n := watched(t)
	for name, as := range looks {
		b := open(t, n.URL+"/", as)
		for _, is := range []string{"well", "trouble", "stale"} {
			stand(n, is)
			b.until("it is "+is, map[string]string{
				"well": "document.title.startsWith('All 8')", "trouble": "document.title.includes('no leader')", "stale": "document.title.includes('not known')",
			}[is])
			for page, hash := range map[string]string{"leaders": "#/leaders", "scope": "#/leaders/s?scope=scheduler", "events": "#/events", "timeline": "#/timeline?w=24h"} {
				b.at(hash)
				b.until("its heading is there", "document.querySelector('h1')")
				js[bool](b, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
				b.picture(filepath.Join(dir, page+"-"+is+"-"+name+".png"))
			}
		}
		stand(n, "trouble")
		b.at("#/timeline?w=24h")
		b.until("the night can be chosen", "document.querySelector('tbody button') && (document.querySelector('tbody button').click(), document.querySelector('.chosen'))")
		b.picture(filepath.Join(dir, "night-"+name+".png"))
		b.at("#/leaders/s?scope=payments")
		b.press("Hand over…")
		b.until("it asks", "document.querySelector('dialog[open]')")
		b.picture(filepath.Join(dir, "handover-"+name+".png"))
	}
	empty, many := newNode(t, "/"), newNode(t, "/")
	many.set(crowd(1000)...)
	for name, as := range fewLooks {
		b := open(t, empty.URL+"/", as)
		b.says("There is no scope yet")
		b.picture(filepath.Join(dir, "leaders-empty-"+name+".png"))
		b = open(t, many.URL+"/", as)
		b.says("2 of 1,000")
		b.picture(filepath.Join(dir, "leaders-many-"+name+".png"))
	}
}

// picture is of the whole page, also of what lies below the screen; of a question, of the screen.
func (b *tab) picture(path string) {
	b.t.Helper()
	take := chromedp.FullScreenshot(100)
	if js[bool](b, "document.querySelector('dialog[open]') !== null") {
		take = chromedp.CaptureScreenshot()
	}
	b.takes(path, take)
}

// pictured makes a picture if somebody wants pictures.
func (b *tab) pictured(name string) {
	b.t.Helper()
	if dir := os.Getenv("CONCH_PICTURES"); dir != "" {
		b.picture(filepath.Join(dir, name+".png"))
	}
}

func (b *tab) takes(path string, take chromedp.Action[[]byte]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, take)
	if err == nil {
		err = os.WriteFile(path, png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func urlEncoded(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "'", "%27") }

func sortEvents(events []event) {
	slices.SortStableFunc(events, func(a, b event) int { return a.At.Compare(b.At) })
}
