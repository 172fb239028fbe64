package web_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

type exchange = webtest.Exchange[*world]

func fail(err error) func(*world) {
	return func(w *world) { w.step = func(election.StepDown) error { return err } }
}

func away(w *world)  { w.err = webtest.ErrAway }
func hangs(w *world) { w.hangs = true; w.cfg.Patience = 20 * time.Millisecond }
func locks(w *world) { hangs(w); w.locked = true }

var beat = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("east", 3600))

const term = "01020300-0000-0000-0000-000000000000"

func led(w *world) {
	w.leaderships = []pgops.ScopeStatus{
		{
			Scope: "payments", Epoch: 7, Holder: "node-1", AcquiredAt: beat, HeartbeatAt: &beat, HeartbeatAgeMS: 120,
			Candidates: []string{"node-1", "node-2"}, Held: true, LeaseMS: 3000, Term: term, Takeover: "strict",
		},
		{Scope: "zoo", Epoch: 1, Holder: "node-3", AcquiredAt: beat, Released: true, LeaseMS: 3000, Takeover: "fast", Term: term},
	}
	w.lead(0, 2700*time.Millisecond)
}

const (
	paymentsLed = `"scope":"payments","epoch":7,"holder":"node-1","term":"` + term + `","acquired_at":"2026-03-01T11:00:00Z",` +
		`"heartbeat_at":"2026-03-01T11:00:00Z","heartbeat_age_ms":120,"released":false,"held":true,"candidates":["node-1","node-2"],` +
		`"lease_ms":3000,"takeover":"strict","failures":0,"here":{"role":"leader","epoch":7,"fenced":true,"act":true,"holder":"node-1"}`
	never = `"epoch":0,"holder":"","acquired_at":null,"heartbeat_at":null,"heartbeat_age_ms":0,"released":false,"held":false,` +
		`"candidates":[],"lease_ms":0,"failures":0,"here":{"role":"follower","epoch":0,"fenced":false,"act":false}`
	zooLed = `"scope":"zoo","epoch":1,"holder":"node-3","term":"` + term + `","acquired_at":"2026-03-01T11:00:00Z","heartbeat_at":null,` +
		`"heartbeat_age_ms":0,"released":true,"held":false,"candidates":[],"lease_ms":3000,"takeover":"fast","failures":0,"here":null`
	drainPath = "POST /v1/scopes/payments/drain"
	gatePath  = "GET /v1/scopes/payments/gate"
	mayAct    = `{"leader":true,"epoch":7,"term":"` + term + `","expires_in_ms":`
)

var scopeAnswers = []exchange{
	{Name: "all, in order", Given: led, Ask: "GET /v1/scopes", Status: 200, Want: `{"scopes":[{"scope":"a/b",` + never + `},{` + paymentsLed + `},{` + zooLed + `}]}`, Sends: "Cache-Control: no-store"},
	{Name: "all, no database", Given: away, Ask: "GET /v1/scopes", Status: 503, Want: "urn:conch:problem:database-unavailable", Sends: "Retry-After: 5"},
	{Name: "all, tables are locked", Given: locks, Ask: "GET /v1/scopes", Status: 503, Want: "tables of conch are locked"},
	{Name: "all, it hangs", Given: hangs, Ask: "GET /v1/scopes", Status: 504, Want: "urn:conch:problem:database-timeout"},
	{Name: "one", Given: led, Ask: "GET /v1/scopes/payments", Status: 200, Want: `{` + paymentsLed + `}`},
	{Name: "one that nobody leads", Given: unled, Ask: "GET /v1/scopes/payments", Status: 200, Want: paymentsUnled},
	{Name: "one of others", Given: led, Ask: "GET /v1/scopes/zoo", Status: 200, Want: `{` + zooLed + `}`},
	{Name: "a name with a slash", Given: led, Ask: "GET /v1/scopes/a%2Fb", Status: 200, Want: `{"scope":"a/b",` + never + `}`},
	{Name: "one that is not", Given: led, Ask: "GET /v1/scopes/nope", Status: 404, Want: "urn:conch:problem:unknown-scope"},
	{Name: "one that cannot be", Ask: "GET /v1/scopes/a%00b", Status: 400, Want: "not valid text"},
	{Name: "one, no database", Given: away, Ask: "GET /v1/scopes/payments", Status: 503, Want: "database-unavailable"},
	{Name: "one, it hangs", Given: hangs, Ask: "GET /v1/scopes/payments", Status: 504, Want: "did not answer in time"},
}

// unled gives the world a scope that nobody leads, since its role has failed.
func unled(w *world) {
	at := beat.Add(time.Minute)
	w.leaderships = []pgops.ScopeStatus{{
		Scope: "payments", Epoch: 9, Holder: "node-1", AcquiredAt: beat, LeaseMS: 3000, Takeover: "strict",
		Obstacle: "its row is locked by pid 7", Failures: 8, LastFailure: "the command ended with code 3", LastFailureAt: &at,
	}}
	w.now = w.now.Add(time.Hour)
	w.status = election.Status{Scope: "payments", Unled: w.now.Add(-12 * time.Second), Why: "a locked row", Unsaid: true}
}

const paymentsUnled = `{"scope":"payments","epoch":9,"holder":"node-1","acquired_at":"2026-03-01T11:00:00Z","heartbeat_at":null,"heartbeat_age_ms":0,` +
	`"released":false,"held":false,"candidates":[],"lease_ms":3000,"takeover":"strict","obstacle":"its row is locked by pid 7",` +
	`"failures":8,"last_failure":"the command ended with code 3","last_failure_at":"2026-03-01T11:01:00Z",` +
	`"here":{"role":"follower","epoch":0,"fenced":false,"act":false,"leaderless_ms":12000,"why":"a locked row","unsaid":true}}`

// heard makes another process the leader, as far as is known here.
func heard(w *world) { w.latches["payments"].Heard("node-2") }

// leads opens the doors of "payments".
func leads(actIn, left time.Duration) func(*world) {
	return func(w *world) { w.lead(actIn, left) }
}

// upTo sets the longest promise and opens the doors of "payments".
func upTo(most, left time.Duration) func(*world) {
	return func(w *world) { w.cfg.AnswerMax = most; w.lead(0, left) }
}

const (
	routed     = `{"leader":true,"epoch":7,"term":"` + term + `"}`
	leaderPath = "GET /leader/payments"
)

var gateAnswers = []exchange{
	{Name: "open, cut downwards", Given: leads(0, 400*time.Millisecond+999*time.Microsecond), Ask: gatePath, Status: 200, Want: mayAct + `400}`, Sends: "Cache-Control: no-store"},
	{Name: "open, for half a second", Given: leads(0, 2100*time.Millisecond), Ask: gatePath, Status: 200, Want: mayAct + `500}`},
	{Name: "open, and the node promises less", Given: upTo(200*time.Millisecond, time.Second), Ask: gatePath, Status: 200, Want: mayAct + `200}`},
	{Name: "open, and the node would promise more", Given: upTo(2*time.Second, time.Minute), Ask: gatePath, Status: 200, Want: mayAct + `500}`},
	{Name: "for longer", Given: upTo(2*time.Second, time.Minute), Ask: gatePath + "?for=2s", Status: 200, Want: mayAct + `2000}`},
	{Name: "for longer than there is", Given: upTo(2*time.Second, time.Second), Ask: gatePath + "?for=2s", Status: 200, Want: mayAct + `1000}`},
	{Name: "for less", Given: leads(0, time.Second), Ask: gatePath + "?for=20ms", Status: 200, Want: mayAct + `20}`},
	{Name: "for longer than the node promises", Given: leads(0, time.Minute), Ask: gatePath + "?for=501ms", Status: 400, Want: "answer_max of this node, which is 500ms"},
	{Name: "for a word", Given: leads(0, time.Minute), Ask: gatePath + "?for=ever", Status: 400, Want: "is not a time"},
	{Name: "for nothing", Given: leads(0, time.Minute), Ask: gatePath + "?for=", Status: 400, Want: "is not a time"},
	{Name: "for less than a millisecond", Given: leads(0, time.Minute), Ask: gatePath + "?for=999us", Status: 400, Want: "is not a time"},
	{Name: "for a while without a promise", Given: leads(0, time.Minute), Ask: gatePath + "?promise=no&for=20ms", Status: 400, Want: "take it out"},
	{Name: "for a while behind the fenced door", Given: leads(0, time.Minute), Ask: gatePath + "?door=fenced&for=20ms", Status: 400, Want: "take it out"},
	{Name: "for routing", Given: leads(0, time.Second), Ask: gatePath + "?promise=no", Status: 200, Want: routed},
	{Name: "for routing, the act door holds", Given: leads(time.Second, 2*time.Second), Ask: gatePath + "?promise=no", Status: 503, Want: `{"leader":false,"holder":"node-1","reason":"holding"}`},
	{Name: "for routing, the fenced door does not", Given: leads(time.Second, 2*time.Second), Ask: gatePath + "?promise=no&door=fenced", Status: 200, Want: routed},
	{Name: "for routing, another leads", Given: heard, Ask: gatePath + "?promise=no", Status: 503, Want: `{"leader":false,"holder":"node-2","reason":"not_leader"}`},
	{Name: "a promise that is none", Ask: gatePath + "?promise=maybe", Status: 400, Want: "neither yes nor no"},
	{Name: "another leads", Given: heard, Ask: gatePath, Status: 503, Want: `{"leader":false,"holder":"node-2","reason":"not_leader"}`, Sends: "Content-Type: application/json"},
	{Name: "nobody is known to lead", Ask: gatePath, Status: 503, Want: `{"leader":false,"holder":"","reason":"not_leader"}`},
	{Name: "the act door holds", Given: leads(time.Second, 2*time.Second), Ask: gatePath + "?door=act", Status: 503, Want: `{"leader":false,"holder":"","reason":"holding"}`},
	{Name: "the fenced door does not", Given: leads(time.Second, 2*time.Second), Ask: gatePath + "?door=fenced", Status: 200, Want: mayAct + `2000}`},
	{Name: "late", Given: func(w *world) { w.lead(0, time.Second); w.now = w.now.Add(time.Second) }, Ask: gatePath, Status: 503, Want: `{"leader":false,"holder":"","reason":"late"}`},
	{Name: "less than a millisecond", Given: leads(0, 999*time.Microsecond), Ask: gatePath, Status: 503, Want: `{"leader":false,"holder":"node-1","reason":"late"}`},
	{Name: "a door that is none", Ask: gatePath + "?door=back", Status: 400, Want: "neither act nor fenced"},
	{Name: "a scope that is none", Ask: "GET /v1/scopes/nope/gate", Status: 404, Want: "unknown-scope"},
	{Name: "no database is needed", Given: func(w *world) { away(w); w.lead(0, 100*time.Millisecond) }, Ask: gatePath, Status: 200, Want: mayAct + `100}`},
	{Name: "it leads", Given: leads(0, time.Second), Ask: leaderPath, Status: 200, Want: "OK", Sends: "Cache-Control: no-store"},
	{Name: "it leads, asked without a body", Given: leads(0, time.Second), Ask: "HEAD /leader/payments", Status: 200},
	{Name: "it leads, asked by a balancer", Given: leads(0, time.Second), Ask: "OPTIONS /leader/payments", Status: 200},
	{Name: "the act door holds", Given: leads(time.Second, 2*time.Second), Ask: leaderPath, Status: 503},
	{Name: "another leads", Given: heard, Ask: leaderPath, Status: 503},
	{Name: "another leads, asked by a balancer", Given: heard, Ask: "OPTIONS /leader/payments", Status: 503},
	{Name: "a scope that is none", Ask: "GET /leader/nope", Status: 503},
	{Name: "a name with a slash", Given: leads(0, time.Second), Ask: "GET /leader/a%2Fb", Status: 503},
	{Name: "a leader is not made", Ask: "POST /leader/payments", Status: 405, Sends: "Allow: GET, OPTIONS, HEAD"},
}

// elsewhere makes another process the leader, which answers requests with err.
func elsewhere(err error) func(*world) {
	return func(w *world) {
		heard(w)
		fail(election.ErrNotLeading)(w)
		w.ask = func(pgops.Request) error { return err }
	}
}

// alone makes the node standalone.
func alone(w *world) {
	w.cfg.Ask = nil
	w.gates["payments"] = fence.Standalone("payments", "node-1")
}

var (
	errNoCandidate = &pgops.CandidateError{Scope: "payments", To: "node-9", Holder: "node-1", Candidates: []string{"node-1", "node-2"}}
	errUntaken     = &pgops.UnansweredError{Scope: "payments", Holder: "node-2"}
	errTooLate     = &pgops.FailedError{Scope: "payments", Holder: "node-2", Result: "this process does not lead the scope"}
)

var drainAnswers = []exchange{
	{Name: "drained", Ask: drainPath, Status: 200, Want: `{"scope":"payments","actor":"local"}`},
	{Name: "in favour of one", Given: led, Ask: drainPath, Body: `{"timeout_ms":1500,"to":"node-2"}`, Status: 200, Want: `{"scope":"payments","actor":"local","to":"node-2"}`},
	{Name: "another leads", Given: elsewhere(nil), Ask: drainPath, Status: 200, Want: `{"scope":"payments","actor":"local"}`},
	{Name: "of no role here", Ask: "POST /v1/scopes/zoo/drain", Status: 200, Want: `{"scope":"zoo","actor":"local"}`},
	{Name: "of no candidate", Given: elsewhere(errNoCandidate), Ask: drainPath, Body: `{"to":"node-9"}`, Status: 422, Want: "these are: node-1, node-2"},
	{Name: "of a bad name", Given: led, Ask: drainPath, Body: `{"to":"a:b"}`, Status: 400, Want: "contains ':'"},
	{Name: "the leader cannot be asked", Given: elsewhere(webtest.ErrAway), Ask: drainPath, Status: 503, Want: "database-unavailable"},
	{Name: "its tables are locked", Given: elsewhere(&pgops.LockedError{Err: context.DeadlineExceeded}), Ask: drainPath, Status: 503, Want: "tables of conch are locked"},
	{Name: "the database hangs", Given: elsewhere(context.DeadlineExceeded), Ask: drainPath, Status: 504, Want: "database-timeout"},
	{Name: "the leader does not answer", Given: elsewhere(errUntaken), Ask: drainPath, Status: 504, Want: "it was withdrawn"},
	{Name: "it has just lost it", Given: elsewhere(errTooLate), Ask: drainPath, Status: 409, Want: `"holder":"node-2"`},
	{Name: "nobody leads", Given: elsewhere(pgops.ErrNobodyLeads), Ask: drainPath, Status: 409, Want: "nobody-leads"},
	{Name: "nobody leads what others do", Given: func(w *world) { led(w); elsewhere(pgops.ErrNobodyLeads)(w) }, Ask: "POST /v1/scopes/zoo/drain", Status: 409, Want: "nobody-leads"},
	{Name: "a negative time", Ask: drainPath, Body: `{"timeout_ms":-1}`, Status: 400, Want: "timeout_ms"},
	{Name: "too long a time", Ask: drainPath, Body: `{"timeout_ms":600001}`, Status: 400, Want: "timeout_ms"},
	{Name: "no JSON", Ask: drainPath, Body: `{`, Status: 400, Want: "not what is documented"},
	{Name: "a misspelt member", Ask: drainPath, Body: `{"timeout":1}`, Status: 400, Want: "timeout"},
	{Name: "two documents", Ask: drainPath, Body: `{}{}`, Status: 400, Want: "follows the JSON document"},
	{Name: "another type", Ask: drainPath, Body: `to=b`, Header: "Content-Type: text/plain", Status: 415, Want: "application/json"},
	{Name: "too much", Ask: drainPath, Body: `{"to":"` + strings.Repeat("x", 64<<10) + `"}`, Status: 413, Want: "65536"},
	{Name: "a page of another site", Ask: drainPath, Header: "Sec-Fetch-Site: cross-site", Status: 403, Want: "another site"},
	{Name: "acts do not end", Given: fail(election.ErrDrainTimeout), Ask: drainPath, Status: 504, Want: "drain-timeout"},
	{Name: "gone meanwhile", Given: func(w *world) {
		fail(election.ErrUnknownScope)(w)
		w.ask = func(pgops.Request) error { return pgops.ErrNobodyLeads }
	}, Ask: drainPath, Status: 409, Want: "nobody-leads"},
	{Name: "a scope that is none", Given: elsewhere(pgops.ErrNobodyLeads), Ask: "POST /v1/scopes/nope/drain", Status: 404, Want: "unknown-scope"},
	{Name: "a scope that cannot be", Ask: "POST /v1/scopes/a%00b/drain", Status: 400, Want: "not valid text"},
	{Name: "standalone", Given: alone, Ask: drainPath, Status: 409, Want: "urn:conch:problem:standalone"},
	{Name: "standalone, of no role", Given: alone, Ask: "POST /v1/scopes/zoo/drain", Status: 404, Want: "unknown-scope"},
}

func drainedOnce(w *world) {
	w.events = []pgops.Event{{ID: 3, At: beat, Scope: "payments", Epoch: 7, Holder: "node-1", Event: "drained", Reason: "maintenance", Actor: "ops"}}
}

func lostOnce(w *world) {
	gap := int64(77000)
	w.events = []pgops.Event{{ID: 4, At: beat, Scope: "payments", Epoch: 8, Holder: "node-2", Event: "acquired", Reason: "takeover", GapMS: &gap}}
}

var otherAnswers = []exchange{
	{Name: "history", Given: drainedOnce, Ask: "GET /v1/history", Status: 200, Want: `{"events":[{"id":3,"at":"2026-03-01T11:00:00Z","scope":"payments","epoch":7,"holder":"node-1","event":"drained","reason":"maintenance","actor":"ops"}]}`},
	{Name: "history with a gap", Given: lostOnce, Ask: "GET /v1/history", Status: 200, Want: `{"events":[{"id":4,"at":"2026-03-01T11:00:00Z","scope":"payments","epoch":8,"holder":"node-2","event":"acquired","reason":"takeover","actor":"","gap_ms":77000}]}`},
	{Name: "no history", Ask: "GET /v1/history?scope=payments&limit=1000", Status: 200, Want: `{"events":[]}`},
	{Name: "too much history", Ask: "GET /v1/history?limit=5001", Status: 400, Want: "limit"},
	{Name: "a window of the history", Given: drainedOnce, Ask: "GET /v1/history?from=2026-03-01T11:00:00Z&to=2026-03-01T11:00:01Z&before=4&holder=node-1&event=lost,drained&q=maint&limit=1", Status: 200, Want: `"reason":"maintenance","actor":"ops"}],"next":3}`},
	{Name: "a window without events", Given: drainedOnce, Ask: "GET /v1/history?to=2026-03-01T11:00:00Z", Status: 200, Want: `{"events":[]}`},
	{Name: "from no instant", Ask: "GET /v1/history?from=yesterday", Status: 400, Want: "no instant"},
	{Name: "before no event", Ask: "GET /v1/history?before=x", Status: 400, Want: "no id"},
	{Name: "events of no kind", Ask: "GET /v1/history?event=won", Status: 400, Want: "acquired, lost"},
	{Name: "a text in all of the history", Ask: "GET /v1/history?q=a", Status: 400, Want: "from which instant"},
	{Name: "a text that is none", Ask: "GET /v1/history?from=2026-03-01T11:00:00Z&q=%FF", Status: 400, Want: "q is not"},
	{Name: "none at all", Ask: "GET /v1/history?limit=0", Status: 400, Want: "limit"},
	{Name: "of no scope", Ask: "GET /v1/history?scope=", Status: 400, Want: "empty"},
	{Name: "no database", Given: away, Ask: "GET /v1/history", Status: 503, Want: "database-unavailable"},
	{Name: "it hangs", Given: hangs, Ask: "GET /v1/history", Status: 504, Want: "database-timeout"},
	{Name: "a bad id to resume from", Ask: "GET /v1/events", Header: "Last-Event-ID: x", Status: 400, Want: "no id of an event"},
	{Name: "events of no scope", Ask: "GET /v1/events?scope=%FF", Status: 400, Want: "not valid text"},
	{Name: "no database to stream from", Given: away, Ask: "GET /v1/events", Status: 503, Want: "database-unavailable"},
	{Name: "it hangs before the stream", Given: hangs, Ask: "GET /v1/events", Status: 504, Want: "database-timeout"},
	{Name: "a bad run to resume from", Ask: "GET /v1/events", Header: "Last-Event-ID: 1-x", Status: 400, Want: "no id of an event"},
	{Name: "events of no subject", Given: func(w *world) { withBoard(w) }, Ask: "GET /v1/events?ship=c", Status: 404, Want: "unknown-ship"},
	{Name: "the head of events of no subject", Given: func(w *world) { withBoard(w) }, Ask: "HEAD /v1/events?ship=c", Status: 404},
	{Name: "events of two kinds", Given: func(w *world) { withBoard(w).Offer("train", nil) }, Ask: "GET /v1/events?ship=a&train=1", Status: 400, Want: "a stream for each"},
	{Name: "healthy, with a service", Given: func(w *world) { w.cfg.Health = func() map[string]any { return map[string]any{"bells": 7} } }, Ask: "GET /healthz", Status: 200, Want: `,"services":{"bells":7}}`},
	{Name: "healthy", Given: func(w *world) { led(w); away(w) }, Ask: "GET /healthz", Status: 200, Want: `{"status":"ok","id":"node-1","version":"v1.2.3","scopes":[{"scope":"a/b","role":"follower","epoch":0,"fenced":false,"act":false},{"scope":"payments","role":"leader","epoch":7,"fenced":true,"act":true,"holder":"node-1"}]}`},
	{Name: "ready", Ask: "GET /readyz", Status: 200, Want: `{"status":"ready"}`},
	{Name: "not ready", Given: away, Ask: "GET /readyz", Status: 503, Want: "database-unavailable"},
	{Name: "metrics", Ask: "GET /metrics", Status: 200, Want: "conch_is_leader 1\n"},
	{Name: "the document", Ask: "GET /v1/openapi.yaml", Status: 200, Want: "openapi: 3.1.0"},
	{Name: "a method that is not", Ask: "DELETE /v1/scopes", Status: 405, Want: "DELETE is not allowed for /v1/scopes", Sends: "Allow: GET, HEAD"},
	{Name: "reading a drain", Ask: "GET /v1/scopes/payments/drain", Status: 405, Sends: "Allow: POST"},
	{Name: "nothing", Ask: "GET /v2/scopes", Status: 404, Want: "openapi.yaml"},
	{Name: "an image on a page of another site", Given: leads(0, time.Second), Ask: gatePath, Header: "Sec-Fetch-Site: cross-site", Status: 403, Want: "another site"},
	{Name: "a page at another port", Given: leads(0, time.Second), Ask: gatePath, Header: "Sec-Fetch-Site: same-site", Status: 403, Want: "another site"},
	{Name: "a script of another site, in an old browser", Ask: "GET /v1/scopes", Header: "Origin: https://attacker.example", Status: 403, Want: "another site"},
	{Name: "a page of its own", Given: leads(0, 400*time.Millisecond), Ask: gatePath, Header: "Sec-Fetch-Site: same-origin", Status: 200, Want: mayAct + `400}`},
	{Name: "an address that is typed", Given: leads(0, 400*time.Millisecond), Ask: gatePath, Header: "Sec-Fetch-Site: none", Status: 200, Want: mayAct + `400}`},
	{Name: "an old browser's own page", Given: leads(0, 400*time.Millisecond), Ask: gatePath, Header: "Origin: http://127.0.0.1:7070", Status: 200, Want: mayAct + `400}`},
	{Name: "health, for a page of another site", Ask: "GET /readyz", Header: "Sec-Fetch-Site: cross-site", Status: 200, Want: `{"status":"ready"}`},
	{Name: "no dashboard yet", Ask: "GET /", Status: 404},
	{Name: "a strange name", Ask: "GET /v1/scopes", Header: "Host: conch.attacker.example", Status: http.StatusMisdirectedRequest, Want: "not to"},
}
