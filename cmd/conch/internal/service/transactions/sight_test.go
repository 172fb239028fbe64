package transactions

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

const byReader = "Authorization: Bearer " + webtest.ReadSecret

// sightOf has for each route what it answers a token that sees its own transactions alone, of which secondID is one: about firstID, which
// is another's, and about its own. A route that is not here is not known to keep to that.
var sightOf = map[string][]struct {
	ask, body string
	status    int
	mentions  string // the only transaction in the answer
}{
	"GET /v1/transactions": {{"", "", 200, secondID}, {"?account=payer&key=k", "", 200, secondID}},
	"GET /v1/transactions/{id}": {
		{"/v1/transactions/" + firstID, "", 404, ""}, {"/v1/transactions/" + firstID + "?wait=1ms&until=any", "", 404, ""},
		{"/v1/transactions/" + secondID, "", 200, secondID}, {"/v1/transactions/" + secondID + "?wait=1ms", "", 200, secondID},
	},
	"GET /v1/transactions/{id}/attempts": {{"/v1/transactions/" + firstID + "/attempts", "", 404, ""}, {"/v1/transactions/" + secondID + "/attempts", "", 200, ""}},
	"POST /v1/transactions/{id}/cancel":  {{"/v1/transactions/" + firstID + "/cancel", "", 404, ""}, {"/v1/transactions/" + secondID + "/cancel", "", 202, secondID}},
	// A key that another has used for the same call is taken: its transaction could not be followed.
	"POST /v1/transactions":       {{"", body(`,"value":"5","idempotency_key":"k"`), 409, ""}, {"", body(`,"value":"6","idempotency_key":"k"`), 409, ""}},
	"POST /v1/transactions:batch": {{"", `{"transactions":[` + body(`,"value":"5","idempotency_key":"k"`) + `]}`, 409, ""}},
	// Of an account all is told, and what is in the way of its transactions is named, to ask somebody about.
	"GET /v1/accounts":                   {{"", "", 200, firstID}},
	"GET /v1/accounts/{account}":         {{"/v1/accounts/payer", "", 200, firstID}},
	"GET /v1/accounts/{account}/life":    {{"/v1/accounts/payer/life", "", 200, ""}},
	"POST /v1/accounts/{account}/life":   {{"/v1/accounts/payer/life", `{"over":0}`, 403, ""}},
	"GET /v1/policies":                   {{"", "", 403, ""}},
	"GET /v1/series":                     {{"?name=pending_transactions", "", 200, ""}},
	"GET /v1/webhooks":                   {{"", "", 200, ""}}, // how receivers are
	"GET /v1/webhooks/{webhook}/dead":    {{"/v1/webhooks/shop/dead", "", 403, ""}},
	"POST /v1/webhooks/{webhook}/replay": {{"/v1/webhooks/shop/replay", `{"dead":true}`, 403, ""}},
}

// A token whose policy does not say read_others sees its own transactions, by whichever route, and of another's not even that it is there.
// With read_others, without a policy or with a token that may only read it sees all.
func TestWhatATokenSees(t *testing.T) {
	t.Parallel()
	cancels := strings.Replace(small, `"value":"4"`, `"cancel":true,"value":"9"`, 1)
	world := func(policy string) (*world, http.Handler) {
		w := newWorld()
		limited(policy, nil)(w)
		own := w.store.kept[testID(secondID)]
		own.Hold = pending.Hold{}
		w.store.kept[testID(secondID)] = own
		return w, w.handler(t)
	}
	ask := func(api http.Handler, header, what, text string) (int, string) {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: what, Body: text, Header: header}.Request())
		return out.Code, out.Body.String()
	}
	w, api := world(cancels)
	for _, rt := range w.api.routes() {
		plays := sightOf[rt.Method+" "+rt.Path]
		if len(plays) == 0 {
			t.Errorf("of %s %s it is not known what a token sees there: add it to sightOf", rt.Method, rt.Path)
		}
		for _, p := range plays {
			what := rt.Method + " " + p.ask
			if !strings.HasPrefix(p.ask, "/") {
				what = rt.Method + " " + rt.Path + p.ask
			}
			status, got := ask(api, byOps, what, p.body)
			if status != p.status {
				t.Errorf("%s: got %d %s, want %d", what, status, got, p.status)
			}
			for _, id := range []string{firstID, secondID, thirdID} {
				if strings.Contains(got, id) != (id == p.mentions) {
					t.Errorf("%s: the answer has %s: %s", what, id, got)
				}
			}
		}
	}
	for name, c := range map[string]struct{ policy, header string }{
		"read_others": {strings.Replace(small, `"value"`, `"read_others":true,"value"`, 1), byOps}, "no policy": {"", byOps}, "a token that may read": {small, byReader},
	} {
		_, api := world(c.policy)
		if status, got := ask(api, c.header, "GET "+toTX+"/"+firstID, ""); status != 200 {
			t.Errorf("%s: another's is answered with %d %s, want 200", name, status, got)
		}
		if status, got := ask(api, c.header, "GET "+toTX, ""); status != 200 || !strings.Contains(got, firstID) {
			t.Errorf("%s: the list is %d %s, want another's in it", name, status, got)
		}
		if status, got := ask(api, c.header, "GET /v1/webhooks/shop/dead", ""); status != 404 {
			t.Errorf("%s: the dead of no receiver are answered with %d %s, want 404", name, status, got)
		}
	}
	_, api = world(strings.Replace(small, `"value"`, `"read_others":true,"value"`, 1))
	if status, got := ask(api, byOps, "POST "+toTX, body(`,"value":"4","idempotency_key":"k"`)); status != 409 {
		t.Errorf("another call: got %d %s, want 409", status, got)
	}
}

// What a token sees is what its policy says now, within a second, and while no database says, it sees nothing of others.
func TestSightIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	limited(small, nil)(w)
	p, one := w.api.transactions.policies, w.api.transactions.accounts.stores["evm:1"]
	read, rules, away := p.read, small, error(nil)
	p.read = func(ctx context.Context, token, chain string) (pgstore.Policy, error) {
		if away != nil {
			return pgstore.Policy{}, away
		}
		_, _ = read(ctx, token, chain)
		return pgstore.Policy{Rules: []byte(rules), Version: 1}, nil
	}
	look := func(only string, fault error) {
		t.Helper()
		if got, err := p.sight(t.Context(), "ops", "evm:1", one); got != only || !errors.Is(err, fault) {
			t.Errorf("sees only what %q has sent, error %v; want %q, %v", got, err, only, fault)
		}
	}
	old := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for id, k := range p.known {
			k.at = k.at.Add(-sightFor)
			p.known[id] = k
		}
	}
	look("ops", nil)
	look("ops", nil)
	if w.reads != 1 {
		t.Errorf("the policy was read %d times within a second, want once", w.reads)
	}
	rules = strings.Replace(small, `"value"`, `"read_others":true,"value"`, 1)
	old()
	look("", nil)
	rules = small
	old()
	look("ops", nil)
	rules, away = strings.Replace(small, `"value"`, `"read_others":true,"value"`, 1), webtest.ErrAway
	old()
	look("ops", webtest.ErrAway)
}

// A stream has what its caller sees of the events of the account that it names.
func TestAStreamHasWhatItsTokenSees(t *testing.T) {
	t.Parallel()
	for header, all := range map[string]bool{byOps: false, byReader: true} {
		w := newWorld()
		limited(small, nil)(w)
		board := web.NewBoard()
		w.api.news.board = board
		board.Offer(kindTransaction, w.api.news.selects)
		tokens := webtest.Tokens(t)
		api := webtest.Site(t, w.logs, w.api.routes(), func(c *web.Config) { c.Board, c.Tokens = board, tokens }).API()
		out := httptest.NewRecorder()
		var ended sync.WaitGroup
		ended.Go(func() {
			api.ServeHTTP(out, exchange{Ask: "GET /v1/events?transaction=payer", Header: header}.Request().WithContext(t.Context()))
		})
		pgtest.Within(t, time.Minute, "the stream has begun", func() {
			for !board.Heard(kindTransaction) {
				runtime.Gosched()
			}
		})
		w.becomes(firstID, func(r *pending.Record) { r.Fate = pending.Open }, pending.ToldRewound)
		w.becomes(secondID, func(r *pending.Record) { r.Fate = pending.Cancelled }, pending.ToldFinal)
		board.Tell(web.Notice{Kind: kindTransaction, Gap: "the end", Ends: true})
		pgtest.Within(t, time.Minute, "the stream has ended", ended.Wait)
		if got := out.Body.String(); strings.Contains(got, firstID) != all || !strings.Contains(got, secondID) {
			t.Errorf("as %s: the stream has %s; want its own, and another's: %v", header, got, all)
		}
	}
}
