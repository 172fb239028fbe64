package web_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// exchange is one request and what has to come back.
type exchange struct {
	name   string
	given  func(w *world)
	ask    string // "GET /v1/scopes"
	body   string
	header string // "Name: value"
	status int
	want   string // the body without as_of; or, if it is no object, a part of it
	sends  string // "Name: value" of the answer
}

func fail(err error) func(*world) {
	return func(w *world) { w.step = func(election.StepDown) error { return err } }
}

func away(w *world)  { w.err = webtest.ErrAway }
func hangs(w *world) { w.hangs = true; w.cfg.Patience = 20 * time.Millisecond }

var beat = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("east", 3600))

const term = "01020300-0000-0000-0000-000000000000"

func led(w *world) {
	w.leaderships = []pgmint.Leadership{
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
	{name: "all, in order", given: led, ask: "GET /v1/scopes", status: 200, want: `{"scopes":[{"scope":"a/b",` + never + `},{` + paymentsLed + `},{` + zooLed + `}]}`, sends: "Cache-Control: no-store"},
	{name: "all, no database", given: away, ask: "GET /v1/scopes", status: 503, want: "urn:conch:problem:database-unavailable", sends: "Retry-After: 5"},
	{name: "all, it hangs", given: hangs, ask: "GET /v1/scopes", status: 504, want: "urn:conch:problem:database-timeout"},
	{name: "one", given: led, ask: "GET /v1/scopes/payments", status: 200, want: `{` + paymentsLed + `}`},
	{name: "one that nobody leads", given: unled, ask: "GET /v1/scopes/payments", status: 200, want: paymentsUnled},
	{name: "one of others", given: led, ask: "GET /v1/scopes/zoo", status: 200, want: `{` + zooLed + `}`},
	{name: "a name with a slash", given: led, ask: "GET /v1/scopes/a%2Fb", status: 200, want: `{"scope":"a/b",` + never + `}`},
	{name: "one that is not", given: led, ask: "GET /v1/scopes/nope", status: 404, want: "urn:conch:problem:unknown-scope"},
	{name: "one that can not be", ask: "GET /v1/scopes/a%00b", status: 400, want: "not valid text"},
	{name: "one, no database", given: away, ask: "GET /v1/scopes/payments", status: 503, want: "database-unavailable"},
	{name: "one, it hangs", given: hangs, ask: "GET /v1/scopes/payments", status: 504, want: "did not answer in time"},
}

// unled is a scope whose role failed, that nobody leads.
func unled(w *world) {
	at := beat.Add(time.Minute)
	w.leaderships = []pgmint.Leadership{{
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

// upTo is a node that promises more than most.
func upTo(most, left time.Duration) func(*world) {
	return func(w *world) { w.cfg.AnswerMax = most; w.lead(0, left) }
}

const (
	routed     = `{"leader":true,"epoch":7,"term":"` + term + `"}`
	leaderPath = "GET /leader/payments"
)

var gateAnswers = []exchange{
	{name: "open, cut downwards", given: leads(0, 400*time.Millisecond+999*time.Microsecond), ask: gatePath, status: 200, want: mayAct + `400}`, sends: "Cache-Control: no-store"},
	{name: "open, for half a second", given: leads(0, 2100*time.Millisecond), ask: gatePath, status: 200, want: mayAct + `500}`},
	{name: "open, and the node promises less", given: upTo(200*time.Millisecond, time.Second), ask: gatePath, status: 200, want: mayAct + `200}`},
	{name: "open, and the node would promise more", given: upTo(2*time.Second, time.Minute), ask: gatePath, status: 200, want: mayAct + `500}`},
	{name: "for longer", given: upTo(2*time.Second, time.Minute), ask: gatePath + "?for=2s", status: 200, want: mayAct + `2000}`},
	{name: "for longer than there is", given: upTo(2*time.Second, time.Second), ask: gatePath + "?for=2s", status: 200, want: mayAct + `1000}`},
	{name: "for less", given: leads(0, time.Second), ask: gatePath + "?for=20ms", status: 200, want: mayAct + `20}`},
	{name: "for longer than the node promises", given: leads(0, time.Minute), ask: gatePath + "?for=501ms", status: 400, want: "answer_max of this node, which is 500ms"},
	{name: "for a word", given: leads(0, time.Minute), ask: gatePath + "?for=ever", status: 400, want: "is not a time"},
	{name: "for nothing", given: leads(0, time.Minute), ask: gatePath + "?for=", status: 400, want: "is not a time"},
	{name: "for less than a millisecond", given: leads(0, time.Minute), ask: gatePath + "?for=999us", status: 400, want: "is not a time"},
	{name: "for a while without a promise", given: leads(0, time.Minute), ask: gatePath + "?promise=no&for=20ms", status: 400, want: "take it out"},
	{name: "for a while behind the fenced door", given: leads(0, time.Minute), ask: gatePath + "?door=fenced&for=20ms", status: 400, want: "take it out"},
	{name: "for routing", given: leads(0, time.Second), ask: gatePath + "?promise=no", status: 200, want: routed},
	{name: "for routing, the act door holds", given: leads(time.Second, 2*time.Second), ask: gatePath + "?promise=no", status: 503, want: `{"leader":false,"holder":"node-1","reason":"holding"}`},
	{name: "for routing, the fenced door does not", given: leads(time.Second, 2*time.Second), ask: gatePath + "?promise=no&door=fenced", status: 200, want: routed},
	{name: "for routing, another leads", given: heard, ask: gatePath + "?promise=no", status: 503, want: `{"leader":false,"holder":"node-2","reason":"not_leader"}`},
	{name: "a promise that is none", ask: gatePath + "?promise=maybe", status: 400, want: "neither yes nor no"},
	{name: "another leads", given: heard, ask: gatePath, status: 503, want: `{"leader":false,"holder":"node-2","reason":"not_leader"}`, sends: "Content-Type: application/json"},
	{name: "nobody is known to lead", ask: gatePath, status: 503, want: `{"leader":false,"holder":"","reason":"not_leader"}`},
	{name: "the act door holds", given: leads(time.Second, 2*time.Second), ask: gatePath + "?door=act", status: 503, want: `{"leader":false,"holder":"","reason":"holding"}`},
	{name: "the fenced door does not", given: leads(time.Second, 2*time.Second), ask: gatePath + "?door=fenced", status: 200, want: mayAct + `2000}`},
	{name: "late", given: func(w *world) { w.lead(0, time.Second); w.now = w.now.Add(time.Second) }, ask: gatePath, status: 503, want: `{"leader":false,"holder":"","reason":"late"}`},
	{name: "less than a millisecond", given: leads(0, 999*time.Microsecond), ask: gatePath, status: 503, want: `{"leader":false,"holder":"node-1","reason":"late"}`},
	{name: "a door that is none", ask: gatePath + "?door=back", status: 400, want: "neither act nor fenced"},
	{name: "a scope that is none", ask: "GET /v1/scopes/nope/gate", status: 404, want: "unknown-scope"},
	{name: "no database is needed", given: func(w *world) { away(w); w.lead(0, 100*time.Millisecond) }, ask: gatePath, status: 200, want: mayAct + `100}`},
	{name: "it leads", given: leads(0, time.Second), ask: leaderPath, status: 200, want: "OK", sends: "Cache-Control: no-store"},
	{name: "it leads, asked without a body", given: leads(0, time.Second), ask: "HEAD /leader/payments", status: 200},
	{name: "it leads, asked by a balancer", given: leads(0, time.Second), ask: "OPTIONS /leader/payments", status: 200},
	{name: "the act door holds", given: leads(time.Second, 2*time.Second), ask: leaderPath, status: 503},
	{name: "another leads", given: heard, ask: leaderPath, status: 503},
	{name: "another leads, asked by a balancer", given: heard, ask: "OPTIONS /leader/payments", status: 503},
	{name: "a scope that is none", ask: "GET /leader/nope", status: 503},
	{name: "a name with a slash", given: leads(0, time.Second), ask: "GET /leader/a%2Fb", status: 503},
	{name: "a leader is not made", ask: "POST /leader/payments", status: 405, sends: "Allow: GET, OPTIONS, HEAD"},
}

// elsewhere makes another process the leader, which answers what it is asked.
func elsewhere(err error) func(*world) {
	return func(w *world) {
		heard(w)
		fail(election.ErrNotLeading)(w)
		w.ask = func(pgmint.Request) error { return err }
	}
}

// alone has no database and nobody to ask.
func alone(w *world) {
	w.cfg.Ask = nil
	w.gates["payments"] = fence.Standalone("payments", "node-1")
}

var (
	errNoCandidate = &pgmint.CandidateError{Scope: "payments", To: "node-9", Holder: "node-1", Candidates: []string{"node-1", "node-2"}}
	errUntaken     = &pgmint.UnansweredError{Scope: "payments", Holder: "node-2"}
	errTooLate     = &pgmint.FailedError{Scope: "payments", Holder: "node-2", Result: "this process does not lead the scope"}
)

var drainAnswers = []exchange{
	{name: "drained", ask: drainPath, status: 200, want: `{"scope":"payments","actor":"local"}`},
	{name: "in favour of one", given: led, ask: drainPath, body: `{"timeout_ms":1500,"to":"node-2"}`, status: 200, want: `{"scope":"payments","actor":"local","to":"node-2"}`},
	{name: "another leads", given: elsewhere(nil), ask: drainPath, status: 200, want: `{"scope":"payments","actor":"local"}`},
	{name: "of no role here", ask: "POST /v1/scopes/zoo/drain", status: 200, want: `{"scope":"zoo","actor":"local"}`},
	{name: "of no candidate", given: elsewhere(errNoCandidate), ask: drainPath, body: `{"to":"node-9"}`, status: 422, want: "these are: node-1, node-2"},
	{name: "of a bad name", given: led, ask: drainPath, body: `{"to":"a:b"}`, status: 400, want: "contains ':'"},
	{name: "the leader can not be asked", given: elsewhere(webtest.ErrAway), ask: drainPath, status: 503, want: "database-unavailable"},
	{name: "the database hangs", given: elsewhere(context.DeadlineExceeded), ask: drainPath, status: 504, want: "database-timeout"},
	{name: "the leader does not answer", given: elsewhere(errUntaken), ask: drainPath, status: 504, want: "it was withdrawn"},
	{name: "it has just lost it", given: elsewhere(errTooLate), ask: drainPath, status: 409, want: `"holder":"node-2"`},
	{name: "nobody leads", given: elsewhere(pgmint.ErrNobodyLeads), ask: drainPath, status: 409, want: "nobody-leads"},
	{name: "nobody leads what others do", given: func(w *world) { led(w); elsewhere(pgmint.ErrNobodyLeads)(w) }, ask: "POST /v1/scopes/zoo/drain", status: 409, want: "nobody-leads"},
	{name: "a negative time", ask: drainPath, body: `{"timeout_ms":-1}`, status: 400, want: "timeout_ms"},
	{name: "too long a time", ask: drainPath, body: `{"timeout_ms":600001}`, status: 400, want: "timeout_ms"},
	{name: "no JSON", ask: drainPath, body: `{`, status: 400, want: "not what is documented"},
	{name: "a misspelt member", ask: drainPath, body: `{"timeout":1}`, status: 400, want: "timeout"},
	{name: "two documents", ask: drainPath, body: `{}{}`, status: 400, want: "follows its end"},
	{name: "another type", ask: drainPath, body: `to=b`, header: "Content-Type: text/plain", status: 415, want: "application/json"},
	{name: "too much", ask: drainPath, body: `{"to":"` + strings.Repeat("x", 64<<10) + `"}`, status: 413, want: "65536"},
	{name: "a page of another site", ask: drainPath, header: "Sec-Fetch-Site: cross-site", status: 403, want: "another site"},
	{name: "acts do not end", given: fail(election.ErrDrainTimeout), ask: drainPath, status: 504, want: "drain-timeout"},
	{name: "gone meanwhile", given: func(w *world) {
		fail(election.ErrUnknownScope)(w)
		w.ask = func(pgmint.Request) error { return pgmint.ErrNobodyLeads }
	}, ask: drainPath, status: 409, want: "nobody-leads"},
	{name: "a scope that is none", given: elsewhere(pgmint.ErrNobodyLeads), ask: "POST /v1/scopes/nope/drain", status: 404, want: "unknown-scope"},
	{name: "a scope that can not be", ask: "POST /v1/scopes/a%00b/drain", status: 400, want: "not valid text"},
	{name: "standalone", given: alone, ask: drainPath, status: 409, want: "urn:conch:problem:standalone"},
	{name: "standalone, of no role", given: alone, ask: "POST /v1/scopes/zoo/drain", status: 404, want: "unknown-scope"},
}

func drainedOnce(w *world) {
	w.events = []pgmint.Event{{ID: 3, At: beat, Scope: "payments", Epoch: 7, Holder: "node-1", Event: "drained", Reason: "maintenance", Actor: "ops"}}
}

func lostOnce(w *world) {
	gap := int64(77000)
	w.events = []pgmint.Event{{ID: 4, At: beat, Scope: "payments", Epoch: 8, Holder: "node-2", Event: "acquired", Reason: "takeover", GapMS: &gap}}
}

var otherAnswers = []exchange{
	{name: "history", given: drainedOnce, ask: "GET /v1/history", status: 200, want: `{"events":[{"id":3,"at":"2026-03-01T11:00:00Z","scope":"payments","epoch":7,"holder":"node-1","event":"drained","reason":"maintenance","actor":"ops"}]}`},
	{name: "history with a gap", given: lostOnce, ask: "GET /v1/history", status: 200, want: `{"events":[{"id":4,"at":"2026-03-01T11:00:00Z","scope":"payments","epoch":8,"holder":"node-2","event":"acquired","reason":"takeover","actor":"","gap_ms":77000}]}`},
	{name: "no history", ask: "GET /v1/history?scope=payments&limit=1000", status: 200, want: `{"events":[]}`},
	{name: "too much history", ask: "GET /v1/history?limit=1001", status: 400, want: "limit"},
	{name: "none at all", ask: "GET /v1/history?limit=0", status: 400, want: "limit"},
	{name: "of no scope", ask: "GET /v1/history?scope=", status: 400, want: "empty"},
	{name: "no database", given: away, ask: "GET /v1/history", status: 503, want: "database-unavailable"},
	{name: "it hangs", given: hangs, ask: "GET /v1/history", status: 504, want: "database-timeout"},
	{name: "a bad id to resume from", ask: "GET /v1/events", header: "Last-Event-ID: x", status: 400, want: "no id of an event"},
	{name: "events of no scope", ask: "GET /v1/events?scope=%FF", status: 400, want: "not valid text"},
	{name: "no database to stream from", given: away, ask: "GET /v1/events", status: 503, want: "database-unavailable"},
	{name: "it hangs before the stream", given: hangs, ask: "GET /v1/events", status: 504, want: "database-timeout"},
	{name: "healthy", given: func(w *world) { led(w); away(w) }, ask: "GET /healthz", status: 200, want: `{"status":"ok","id":"node-1","version":"v1.2.3","scopes":[{"scope":"a/b","role":"follower","epoch":0,"fenced":false,"act":false},{"scope":"payments","role":"leader","epoch":7,"fenced":true,"act":true,"holder":"node-1"}]}`},
	{name: "ready", ask: "GET /readyz", status: 200, want: `{"status":"ready"}`},
	{name: "not ready", given: away, ask: "GET /readyz", status: 503, want: "database-unavailable"},
	{name: "metrics", ask: "GET /metrics", status: 200, want: "conch_is_leader 1\n"},
	{name: "the document", ask: "GET /v1/openapi.yaml", status: 200, want: "openapi: 3.1.0"},
	{name: "a method that is not", ask: "DELETE /v1/scopes", status: 405, want: "DELETE is not for /v1/scopes", sends: "Allow: GET, HEAD"},
	{name: "reading a drain", ask: "GET /v1/scopes/payments/drain", status: 405, sends: "Allow: POST"},
	{name: "nothing", ask: "GET /v2/scopes", status: 404, want: "openapi.yaml"},
	{name: "no dashboard yet", ask: "GET /", status: 404},
	{name: "a strange name", ask: "GET /v1/scopes", header: "Host: conch.attacker.example", status: http.StatusMisdirectedRequest, want: "not to"},
}
