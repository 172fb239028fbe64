package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var servicePages = map[string]string{
	"contracts": "#/contracts", "contract": "#/contracts?address=" + address, "intent": "#/contracts?address=" + address + "&id=" + first, "logs": "#/logs?log=flags", "overlay": "#/overlay",
}

// withServices is a node with a team, and services that are well.
func withServices(t *testing.T) *node {
	t.Helper()
	n := serving(t, "/", "contracts", "gossip", "logs", "scopes")
	n.happened(past()...)
	n.set(team()...)
	n.fare("well")
	return n
}

// F8: a tab is there for what is on the node, and for nothing else. A node without a database shows its log and its overlay at once, and
// says nothing of scopes.
func TestWhatIsNotConfiguredHasNoTab(t *testing.T) {
	t.Parallel()
	tabs := "[...document.querySelectorAll('nav a')].map((a) => a.innerText).join(' ')"
	n := serving(t, "/", "scopes", "node")
	n.set(team()...)
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	if got := js[string](b, tabs); got != "Leaders Timeline Events Nodes" {
		t.Errorf("the tabs are %q, want those of scopes", got)
	}
	n = serving(t, "/", "gossip", "logs", "node")
	n.fare("well")
	n.mu.Lock()
	n.services.alone = true
	n.mu.Unlock()
	b = open(t, n.URL+"/", desk)
	b.says("All 2 logs are led")
	b.until("the bar says live", "document.querySelector('header .live').innerText.includes('live')")
	if got := js[string](b, tabs); got != "Logs Overlay" {
		t.Errorf("without a database the tabs are %q, want those of what is there", got)
	}
	b.until("the title says how the logs stand", "document.title === 'All 2 logs are led · Logs · conch'")
	if said := b.text(); strings.Contains(said, "scope") {
		t.Errorf("without scopes the page says %s", said)
	}
	n = serving(t, "/", "contracts", "scopes")
	n.set(row{Scope: "sequencer:bank", State: "led", Epoch: 3, Holder: "node-1", AcquiredAt: time.Now().UTC(), LeaseMS: 3000, Candidates: []string{"node-1", "node-2"}})
	n.says("/v1/contracts", refusal{503, "not-leading", "this process does not run the contracts' node now"})
	b = open(t, n.URL+"/#/contracts", desk)
	b.says("Another process of this organisation runs its contracts")
	b.says("Open the page of the one that leads:")
	b.says("sequencer:bank")
}

// F8: the first line of each page says in words how things stand, and changes with them.
func TestServicesSayHowTheyStand(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	b := open(t, n.URL+"/#/contracts", desk)
	b.says("All 2 contracts go on")
	b.says("38 transactions of this node are open, and it coordinates 24.")
	for _, want := range []string{"final 184,229", "north", "coordinates next", "184,212", "−17", "3 of 5 members", "dispatched", "invoice 4711", "confirmed"} {
		b.says(want)
	}
	if seats := js[int](b, "document.querySelectorAll('.ring .seat').length"); seats != 4 || js[string](b, "document.querySelector('.ring').getAttribute('aria-label')") != "north coordinates, then south; 30 percent of the range are done" {
		t.Errorf("the ring has %d seats, want the four of the committee, and says who coordinates", seats)
	}
	b.at("" + servicePages["logs"])
	b.says("All 2 logs are led")
	for _, want := range []string{"40,218 of 40,218 known", "term 17", "40,214 −7", "is heard", "from then on: node-1, node-2, node-3", `{"set":{"flags/checkout":false}}`, "! failed: the value is not there any more"} {
		b.says(want)
	}
	b.at("#/overlay")
	b.says("A leader is suggested in all 2 namespaces, and this node has 4 neighbours")
	for _, want := range []string{"node-1 in default, node-2 in indexing. That is a hint", "reign 4", "edge-fra-04 (its own word)", "blue", "2 bytes that are no text", "6 arcs, 9 more remembered"} {
		b.says(want)
	}
	n.fare("trouble")
	b.says("Something keeps this node from its place in the overlay")
	for _, want := range []string{"no majority since", "→ start those nodes", "! silent", "! other electors, round in [gossip] than here", "! unreachable", "flood 41, signature 3", "Two hosts had one key"} {
		b.says(want)
	}
	b.at("#/logs")
	b.says("2 of 2 logs need somebody")
	for _, want := range []string{"flags: signed heads contradict; routes: nobody leads.", "✕ 1 pair of signed heads that cannot both be true", "✕ 3 signed heads that the leader denies", "170 entries, the next one for 9.1 s", "! not heard for 41 s", "is leaving", "conch log verify flags"} {
		b.says(want)
	}
	b.at("#/contracts")
	b.says("1 of 2 contracts does not go on")
	for _, want := range []string{"Nothing lands: account \"ops\": no money", "! declares another contract", "! signs wrongly, and is left out", "5 skipped: expired 1, missing 4", "it has spoken of no block", "reverted"} {
		b.says(want)
	}
}

// F8: an intent is told step by step, as this node saw it, and the page says that others saw theirs.
func TestAnIntentIsToldStepByStep(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	b := open(t, n.URL+"/"+servicePages["intent"], desk)
	b.says("invoice 4711")
	b.says("It waits: its block is not final yet")
	b.says("The other organisations saw their own part of it")
	if steps := js[int](b, "document.querySelectorAll('.story li').length"); steps != 7 {
		t.Errorf("%d steps are told, want the seven of the story", steps)
	}
	for _, want := range []string{"declined → waiting, 4 times", "the range has turned", "endorsed by bank, north, south", "block 184,231", "+7.0 s"} {
		b.says(want)
	}
}

// F8, rule 1: a node that answers no more is not known, within five seconds: nothing has the colour of what is well, and no button does
// anything. What needs no database is told while that is away, and what needs it is not.
func TestServicesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	b := open(t, n.URL+"/#/contracts", desk)
	b.says("All 2 contracts go on")
	n.away(43 * time.Second)
	b.says("Not known: the database has not answered")
	unknown := func(page string) {
		for what, expression := range map[string]string{
			"a button does something":              "document.querySelector('main button:not(:disabled):not(.quiet)')",
			"a state is told as of now":            "[...document.querySelectorAll('.choices .state, .state-edge .state')].some((e) => !e.innerText.includes('not known now'))",
			"an edge has the colour of what is so": "document.querySelector('.state-edge.good, .state-edge.warn, .state-edge.bad')",
			"a member is told to be heard now":     "/is heard/.test(document.querySelector('main').innerText)",
			"the page has forgotten what was":      "document.querySelectorAll('.panel').length < 2",
			"a bar has the colour of a state":      "[...document.querySelectorAll('.bar i')].some((e) => /26, 138, 76|196, 122, 16/.test(getComputedStyle(e).backgroundColor))",
		} {
			if js[bool](b, "!!("+expression+")") {
				t.Errorf("%s: %s while nothing is known", page, what)
			}
		}
	}
	unknown("contracts")
	b.at("#/logs")
	b.says("All 2 logs are led")
	b.says("this page needs neither")
	b.at("#/overlay")
	b.says("A leader is suggested")
	n.away(0)
	js[bool](b, "self.same = true")
	for _, page := range []string{"overlay", "logs", "contracts"} {
		b.at("#/" + page)
		b.until("it is known", "document.querySelector('.verdict.good')")
		n.mute(true)
		b.says("Not known: node-2 has not answered")
		b.until("the title says it", "document.title.startsWith('? not known')")
		unknown(page)
		n.mute(false)
		b.until("it is known again", "document.querySelector('.verdict.good')")
	}
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// F8, S32, rules 4 and 5: what is asked for is said first, and then is exactly that.
func TestActsOnContracts(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	path := "/v1/contracts/" + address + "/transactions"
	n.says("POST "+path, object{"id": first})
	n.says("POST "+path+"/"+first+"/cancel", story())
	b := open(t, n.URL+"/"+servicePages["contract"], desk)
	b.press("Send…")
	b.says("first, and 3 members of 5 must endorse it.")
	b.says("The node’s log shows “local” as the one that asked.")
	b.fill("dialog textarea", "{no json")
	b.press("Send")
	b.says("What the domain takes is no JSON")
	b.fill("dialog textarea", `{"pay":{"to":"north","amount":1}}`)
	b.press("Send")
	b.says("It is stored.")
	n.mu.Lock()
	sent := n.services.asked["POST "+path]
	n.mu.Unlock()
	key, _ := sent["idempotency_key"].(string)
	if request, is := sent["request"].(object); !is || request["pay"] == nil || !strings.HasPrefix(key, "page-") || sent["deadline"] != nil {
		t.Errorf("sent is %v", sent)
	}
	b.press("Close")
	b.press("Cancel…")
	b.says("it ends as reverted once the ledger has ended every grant")
	b.press("Cancel it")
	b.says("The node gives it up")
	b.press("Close")
	b.press("Coordinate no more…")
	b.says("12 pieces of work at most")
	b.says("It still owns transactions, and endorses")
	b.press("Leave it")
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.services.asked) != 2 {
		t.Errorf("asked for %v, want a transaction and its end", n.services.asked)
	}
}

// F8, S32, rule 4: names and words of others are texts on these pages too.
func TestWordsOfServicesAreTexts(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	c, l, nodes, told := contract(address), log("flags"), overlaid(), story()
	c["waits"], c["coordinator"], c["next_coordinator"], c["domain"] = hostile, hostile, hostile, hostile
	c["order"], c["next_order"], c["open"] = []string{hostile, "b"}, []string{hostile, "b"}, object{hostile: 3}
	c["members"].([]object)[0]["name"] = hostile //nolint:forcetypeassert // as it was made
	l["leader"], l["advice"], l["namespace"] = hostile, hostile, strings.ReplaceAll(strings.ReplaceAll(hostile, "/", "-"), " ", "_")
	l["members"].([]object)[0]["name"] = hostile //nolint:forcetypeassert // as it was made
	one := nodes["namespaces"].([]object)[0]     //nolint:forcetypeassert // as it was made
	one["leader"], one["electors"], one["leader_proven"] = hostile, []string{hostile}, false
	nodes["news"].([]object)[0]["topic"], nodes["news"].([]object)[0]["body"] = hostile, "PGltZyBzcmM9eCBvbmVycm9yPWFsZXJ0KDEpPuKArg==" //nolint:forcetypeassert // as it was made
	nodes["troubles"] = []object{{"detail": hostile, "remedy": hostile, "grave": true}}
	told["idempotency_key"], told["request"], told["why"] = hostile, hostile, hostile
	told["story"].([]object)[1]["node"], told["story"].([]object)[1]["why"] = hostile, hostile //nolint:forcetypeassert // as it was made
	n.says("/v1/contracts", object{"as_of": stamp(0), "contracts": []object{c}})
	n.says("/v1/contracts/"+address, c)
	n.says("/v1/contracts/"+address+"/transactions", object{"as_of": stamp(0), "transactions": []object{intent(address, hostile, first, "open", time.Second)}})
	n.says("/v1/contracts/"+address+"/transactions/"+first, told)
	n.says("/v1/logs", object{"logs": []object{l}})
	n.says("/v1/logs/"+l["namespace"].(string)+"/entries", entries()) //nolint:forcetypeassert // as it was made
	n.says("/v1/nodes", nodes)
	for _, as := range []look{desk, phone} {
		b := open(t, n.URL+"/", as)
		b.says("All 8 scopes are led")
		for name, hash := range servicePages {
			if name == "logs" {
				hash = "#/logs"
			}
			b.shows(hash)
			b.until("the code point is drawn on "+name, "document.querySelector('main').innerText.includes('U+202E') && document.querySelector('h1')")
			b.inert(name)
		}
	}
}

// Rules 6 and 7: a link shows the same view below a path of a proxy, axe-core finds nothing serious, and nothing is wider than the screen.
func TestAxeOnServices(t *testing.T) {
	t.Parallel()
	n := serving(t, "/teams/blue/", "contracts", "gossip", "logs", "scopes")
	n.happened(past()...)
	n.set(team()...)
	for _, as := range axed() {
		for _, is := range []string{"well", "trouble", "empty", "stale"} {
			n.away(0)
			if is != "stale" {
				n.fare(is)
			}
			b := open(t, n.URL+"/teams/blue/"+servicePages["contracts"], as)
			b.until("it is there", "document.querySelectorAll('main .panel').length > 1")
			if is == "stale" {
				n.away(43 * time.Second)
				b.says("Not known")
			}
			for name, hash := range servicePages {
				b.shows(hash)
				b.serious(name + " " + is)
			}
			b.close()
		}
	}
}

// shows goes to a view, and waits until it is drawn with what the node says.
func (b *tab) shows(hash string) {
	b.t.Helper()
	b.at(hash)
	b.settled()
}

// Pictures of these pages for people to look at.
func TestPicturesOfServices(t *testing.T) {
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		t.Skip("nobody wants pictures: CONCH_PICTURES names a folder for them")
	}
	n := withServices(t)
	for name, as := range map[string]look{"light-1440": desk, "dark-1440": {width: 1440, height: 900, dark: true}, "light-390": {width: 390, height: 1700}, "dark-390": {width: 390, height: 1700, dark: true}} {
		for _, is := range []string{"well", "trouble", "empty", "stale"} {
			t.Run(is+"-"+name, func(t *testing.T) { picturesOf(t, n, as, is, filepath.Join(dir, "%s-"+is+"-"+name+".png")) })
		}
	}
}

func picturesOf(t *testing.T, n *node, as look, is, path string) {
	t.Helper()
	n.away(0)
	n.fare(map[bool]string{true: "well", false: is}[is == "stale"])
	b := open(t, n.URL+"/", as)
	b.says("All 8 scopes are led")
	for page, hash := range servicePages {
		b.shows(hash)
		if is == "stale" {
			n.mute(true)
			b.until("it is not known", "/^. not known/i.test(document.querySelector('main .state-edge .state')?.innerText ?? '')")
		}
		js[bool](b, "new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(true)), 300))")
		b.picture(fmt.Sprintf(path, page))
		n.mute(false)
	}
	b.close()
}
