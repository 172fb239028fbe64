package web_test

import (
	"net/url"
	"strings"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

// namedDrains are the drains with the name of the scope in the body.
func namedDrains(drains []exchange) (all []exchange) {
	for _, x := range drains {
		scope, _ := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(x.Ask, "POST /v1/scopes/"), "/drain"))
		x.Ask = "POST /v1/drain"
		switch rest, whole := strings.CutPrefix(x.Body, "{"); {
		case strings.Contains(scope, "\x00"):
			x.Body = `{"scope":"a\u0000b"}`
		case x.Body == "" || x.Body == "{}":
			x.Body = `{"scope":"` + scope + `"}`
		case whole && strings.HasPrefix(rest, `"`):
			x.Body = `{"scope":"` + scope + `",` + rest
		}
		all = append(all, x)
	}
	return append(all,
		exchange{Name: "a name that proxies decode", Ask: "POST /v1/drain", Body: `{"scope":"a/b"}`, Status: 200, Want: `{"scope":"a/b","actor":"local"}`},
		exchange{Name: "no name", Ask: "POST /v1/drain", Status: 400, Want: "scope"},
		exchange{Name: "a term that is none", Ask: "POST /v1/drain", Body: `{"scope":"payments","if_epoch":-1}`, Status: 400, Want: "if_epoch"},
		exchange{Name: "another term", Given: elsewhere(&pgops.EpochError{Scope: "payments", Epoch: 8, Asked: 7, Holder: "node-2"}), Ask: "POST /v1/drain", Body: `{"scope":"payments","if_epoch":7}`, Status: 409, Want: "urn:conch:problem:other-epoch"},
	)
}

// crowd gives the world scopes in all states.
func crowd(w *world) {
	led(w)
	held := w.leaderships[0]
	row := func(scope string, change func(*pgops.ScopeStatus)) {
		l := held
		l.Scope = scope
		change(&l)
		w.leaderships = append(w.leaderships, l)
	}
	row("late", func(l *pgops.ScopeStatus) { l.HeartbeatAgeMS = 3001 })
	row("fails", func(l *pgops.ScopeStatus) { l.Failures, l.LastFailure = 2, "code 3" })
	row("gone", func(l *pgops.ScopeStatus) { l.Held, l.Obstacle = false, "its row is locked by pid 7" })
	w.beats = []pgops.Beat{{Holder: "node-1", AgeMS: 120, Scopes: 4, Late: 1}}
}

// well gives the world scopes that are all led.
func well(w *world) {
	led(w)
	w.electors = newElectors("payments")
	w.cfg.Electors = w.electors
	w.leaderships = w.leaderships[:1]
	w.beats = []pgops.Beat{{Holder: "node-1", AgeMS: 120, Scopes: 1}}
	gap := int64(534)
	w.events = []pgops.Event{
		{ID: 3, At: beat, Scope: "payments", Epoch: 6, Holder: "node-2", Event: "lost"},
		{ID: 4, At: beat, Scope: "payments", Epoch: 7, Holder: "node-1", Event: "acquired", GapMS: &gap},
	}
}

const (
	goneRow = `{"scope":"gone","state":"nobody","epoch":7,"holder":"node-1","acquired_at":"2026-03-01T11:00:00Z","heartbeat_age_ms":120,"lease_ms":3000,` +
		`"candidates":["node-1","node-2"],"obstacle":"its row is locked by pid 7"}`
	crowdCounts = `"counts":{"total":6,"nobody":2,"late":1,"fails":1,"holding":0,"released":1,"led":1}`
	lastChange  = `"last_change":{"id":4,"at":"2026-03-01T11:00:00Z","scope":"payments","epoch":7,"holder":"node-1","event":"acquired","reason":"","actor":"","gap_ms":534,"from":"node-2"}`
)

var pageAnswers = []exchange{
	{Name: "without tokens", Ask: "GET /v1/session", Status: 200, Want: `"name":"local","may":"operate","tokens":false,"node":"node-1","version":"v1.2.3","parts":["scopes"],"now":`},
	{Name: "with parts", Given: func(w *world) { w.cfg.Parts = func() []string { return []string{"logs", "scopes"} } }, Ask: "GET /v1/session", Status: 200, Want: `"parts":["logs","scopes"]`},
	{Name: "of a cluster with a name", Given: func(w *world) { w.cfg.Cluster = "prod-eu" }, Ask: "GET /v1/session", Status: 200, Want: `"node":"node-1","cluster":"prod-eu"`},
	{Name: "in trouble", Given: crowd, Ask: "GET /v1/overview", Status: 200, Want: `"verdict":{"state":"trouble","text":"2 of 6 scopes have no leader"}`},
	{Name: "well", Given: well, Ask: "GET /v1/overview", Status: 200, Want: `"verdict":{"state":"well","text":"The one scope is led"},"scopes":{"total":1,"nobody":0,"late":0,"fails":0,"holding":0,"released":0,"led":1},"candidates":["node-1","node-2"],"holders":[{"holder":"node-1","age_ms":120,"scopes":1,"late":0,"holding":0}],` + lastChange},
	{Name: "no database", Given: away, Ask: "GET /v1/overview", Status: 200, Want: `"as_of":null,"stale":true,"version":0,"source":{"database":"away","since":`},
	{Name: "nothing is known", Given: away, Ask: "GET /v1/overview", Status: 200, Want: `"verdict":{"state":"unknown","text":"Not known: the database has not answered for `},
	{Name: "rows, trouble first", Given: crowd, Ask: "GET /v1/scopes?view=dense&limit=2&state=nobody,late&q=GO", Status: 200, Want: crowdCounts + `,"found":1,"rows":[` + goneRow + `]}`},
	{Name: "rows, a page", Given: crowd, Ask: "GET /v1/scopes?view=dense&limit=2&after=nobody.a%2Fb", Status: 200, Want: `"next":"late.late"`},
	{Name: "rows, the last page", Given: crowd, Ask: "GET /v1/scopes?view=dense&after=released.zoo", Status: 200, Want: `"found":6,"rows":[{"scope":"payments"`},
	{Name: "rows, no database", Given: away, Ask: "GET /v1/scopes?view=dense", Status: 503, Want: "database-unavailable"},
	{Name: "a state that is none", Ask: "GET /v1/scopes?view=dense&state=well", Status: 400, Want: "nobody, late"},
	{Name: "a place that is none", Ask: "GET /v1/scopes?view=dense&after=x", Status: 400, Want: "after"},
	{Name: "too many rows", Ask: "GET /v1/scopes?view=dense&limit=10001", Status: 400, Want: "limit"},
	{Name: "a view that is none", Ask: "GET /v1/scopes?view=wide", Status: 400, Want: "view"},
	{Name: "rows of the full view", Ask: "GET /v1/scopes?q=a", Status: 400, Want: "view=dense"},
	{Name: "who campaigns", Given: func(w *world) {
		w.processes = []pgops.Process{
			{ID: "node-1", Alive: true, Scopes: 2, Leads: 1, LeaseMS: 3000, Takeover: "strict", Locks: "session", Started: beat, LastSeen: beat, SeenAgeMS: 5, About: pgmint.About{Version: "v1", Address: "10.0.0.7:7070", Settings: "4f", LinesLost: 64}},
			{ID: "<img src=x>", Takeover: "strict", Locks: "session", Started: beat, LastSeen: beat},
		}
	}, Ask: "GET /v1/processes", Status: 200, Want: `"processes":[{"id":"node-1","alive":true,"tombstoned":false,"here":true,"version":"v1","address":"10.0.0.7:7070","settings":"4f","started":"2026-03-01T11:00:00Z","last_seen":"2026-03-01T11:00:00Z","seen_age_ms":5,"scopes":2,"leads":1,"lease_ms":3000,"takeover":"strict","locks":"session","lines_lost":64},{"id":"\u003cimg`},
	{Name: "who campaigns, no database", Given: away, Ask: "GET /v1/processes", Status: 503, Want: "database-unavailable"},
	{Name: "who campaigns, it hangs", Given: hangs, Ask: "GET /v1/processes", Status: 504, Want: "database-timeout"},
	{Name: "one by its name", Given: led, Ask: "GET /v1/scope?scope=a%2Fb", Status: 200, Want: `{"scope":"a/b",` + never + `}`},
	{Name: "one without a name", Ask: "GET /v1/scope", Status: 400, Want: "empty"},
	{Name: "one that is not", Given: led, Ask: "GET /v1/scope?scope=nope", Status: 404, Want: "unknown-scope"},
	{Name: "one, no database", Given: away, Ask: "GET /v1/scope?scope=payments", Status: 503, Want: "database-unavailable"},
	{Name: "one, it hangs", Given: hangs, Ask: "GET /v1/scope?scope=payments", Status: 504, Want: "database-timeout"},
	{Name: "a live word that is none", Ask: "GET /v1/events?live=1", Status: 400, Want: "yes nor no"},
	{Name: "a proxy that replaces the host", Given: func(w *world) { w.cfg.PublicURL = "https://conch.example/ops" }, Ask: drainPath, Header: "Origin: https://conch.example", Status: 200, Want: `{"scope":"payments","actor":"local"}`},
	{Name: "a proxy, and another site", Given: func(w *world) { w.cfg.PublicURL = "https://conch.example/ops" }, Ask: drainPath, Header: "Origin: https://attacker.example", Status: 403, Want: "another site"},
	{Name: "a proxy that keeps the host", Given: func(w *world) { w.cfg.PublicURL = "https://conch.example/ops" }, Ask: "GET /v1/session", Header: "Host: conch.example", Status: 200, Want: `"public_url":"https://conch.example/ops"`},
}
