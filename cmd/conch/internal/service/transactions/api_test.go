package transactions

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
)

const (
	firstID  = "00000000-0000-4000-8000-000000000001"
	secondID = "00000000-0000-4000-8000-000000000002"
	toTX     = "/v1/transactions"
	to20     = `"to":"0x00000000000000000000000000000000000000aa"`
)

// made is a desk, made up: it keeps wishes in a map.
type made struct {
	mu    sync.Mutex
	kept  map[string]Transaction
	err   error
	hangs bool
	hung  chan struct{} // told of each that hangs, if it is there
	asked []Wish
	most  []Selection
}

func newMade() *made {
	state, nonce, hash := "finalized", uint64(3), "0xab"
	return &made{kept: map[string]Transaction{firstID: {
		ID: firstID, Account: "payer", Chain: "evm:1", Address: "0x01", Value: "5", Data: "0x", Key: "k", State: &state, Fate: "done",
		Nonce: &nonce, Hash: &hash, Block: &BlockName{Number: 9, Hash: "0xcd"}, Creator: "node-1", CreatedAt: time.Unix(1, 0).UTC(),
	}, secondID: {ID: secondID, Account: "payer", Chain: "evm:1", Address: "0x01", Value: "0", Data: "0x", Fate: "queued", CreatedAt: time.Unix(2, 0).UTC()}}}
}

func (d *made) ready(ctx context.Context) error {
	if d.hangs {
		if d.hung != nil {
			d.hung <- struct{}{}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return d.err
}

func (d *made) Accept(ctx context.Context, w Wish) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case w.Account != "payer":
		return "", errUnknownAccount
	case w.Key == "k" && w.Value.Cmp(big.NewInt(5)) != 0:
		return "", errKeyTaken
	case len(w.To) != 20:
		return "", &web.FieldError{Field: "to", Text: "is no address"}
	}
	d.asked = append(d.asked, w)
	return firstID, d.ready(ctx)
}

func (d *made) Transaction(ctx context.Context, id string) (Transaction, error) {
	t, known := d.kept[id]
	if !known {
		return t, errUnknown
	}
	return t, d.ready(ctx)
}

func (d *made) Transactions(ctx context.Context, s Selection) ([]Transaction, error) {
	d.most = append(d.most, s)
	if s.Account == "nobody" {
		return nil, errUnknownAccount
	}
	return []Transaction{d.kept[firstID]}, d.ready(ctx)
}

func (d *made) Cancel(ctx context.Context, id string) error {
	if _, known := d.kept[id]; !known {
		return errUnknown
	}
	return d.ready(ctx)
}

// world is an API with a desk that is made up.
type world struct {
	desk *made
	api  *api
	logs *webtest.Log
	more func(*web.Config)
}

func newWorld() *world {
	w := &world{desk: newMade(), logs: &webtest.Log{}}
	w.api = newAPI(w.desk, slog.New(slog.NewTextHandler(w.logs, nil)))
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	return webtest.Site(t, w.logs, w.api.routes(), w.more).API()
}

type exchange struct {
	name   string
	given  func(w *world)
	ask    string
	body   string
	header string
	status int
	want   string
	sends  string
}

func (x exchange) plain() webtest.Exchange {
	return webtest.Exchange{Ask: x.ask, Body: x.body, Header: x.header, Status: x.status, Want: x.want, Sends: x.sends}
}

func (x exchange) request() *http.Request { return x.plain().Request() }

// Every route and every way in which it can fail; every documented answer was given once,
// and no answer is undocumented.
func TestAnswers(t *testing.T) {
	s := webtest.Read(t, openAPI)
	for _, x := range transactionAnswers {
		t.Run(x.ask+" "+x.name, func(t *testing.T) {
			w := newWorld()
			if x.given != nil {
				x.given(w)
			}
			x.plain().Run(t, s, w.handler(t))
		})
	}
	ours := func(operation string) bool { return strings.Contains(operation, pathTransactions) }
	for _, missing := range s.Unseen(ours) {
		t.Errorf("openapi.yaml documents %s, and no example gives it", missing)
	}
}

func noAccounts(w *world)     { w.api.intents = nil }
func deskAway(w *world)       { w.desk.err = webtest.ErrAway }
func deskBusy(w *world)       { w.desk.err = errBusy }
func deskHangs(w *world)      { w.desk.hangs, w.api.patience = true, 50*time.Millisecond }
func body(more string) string { return `{"account":"payer",` + to20 + more + `}` }

var transactionAnswers = []exchange{
	{name: "accepted", ask: "POST " + toTX, body: body(`,"value":"5","data":"0x01","idempotency_key":"k","gas":21000`), status: 202, want: `{"id":"` + firstID + `"}`, sends: "Location: " + toTX + "/" + firstID},
	{name: "without a value", ask: "POST " + toTX, body: body(""), status: 202, want: firstID},
	{name: "a call of 64 kB", ask: "POST " + toTX, body: body(`,"data":"0x` + strings.Repeat("ab", 64<<10) + `"`), status: 202, want: firstID},
	{name: "too large", ask: "POST " + toTX, body: body(`,"data":"0x` + strings.Repeat("ab", 200<<10) + `"`), status: 413, want: "is not read"},
	{name: "no JSON", ask: "POST " + toTX, body: `{"account":`, status: 400, want: "not what is documented"},
	{name: "a number for a value", ask: "POST " + toTX, body: body(`,"value":5`), status: 400, want: "value"},
	{name: "a misspelt key", ask: "POST " + toTX, body: body(`,"idempotency-key":"k"`), status: 400, want: "idempotency-key"},
	{name: "text", ask: "POST " + toTX, body: "x", header: "Content-Type: text/plain", status: 415},
	{name: "nothing", ask: "POST " + toTX, status: 422, want: `"field":"account"`},
	{name: "an unknown account", ask: "POST " + toTX, body: `{"account":"x",` + to20 + `}`, status: 422, want: "unknown-account"},
	{name: "bad hex", ask: "POST " + toTX, body: `{"account":"payer","to":"0xzz"}`, status: 422, want: `"field":"to"`},
	{name: "odd hex", ask: "POST " + toTX, body: body(`,"data":"0x1"`), status: 422, want: `"field":"data"`},
	{name: "no address", ask: "POST " + toTX, body: `{"account":"payer","to":"0x01"}`, status: 422, want: `"field":"to"`},
	{name: "a negative value", ask: "POST " + toTX, body: body(`,"value":"-1"`), status: 422, want: `"field":"value"`},
	{name: "a value with a point", ask: "POST " + toTX, body: body(`,"value":"1.5"`), status: 422, want: `"field":"value"`},
	{name: "no value at all", ask: "POST " + toTX, body: body(`,"value":""`), status: 422, want: `"field":"value"`},
	{name: "a value of 257 bits", ask: "POST " + toTX, body: body(`,"value":"` + new(big.Int).Lsh(big.NewInt(1), 256).String() + `"`), status: 422, want: "256 bits"},
	{name: "a long key", ask: "POST " + toTX, body: body(`,"idempotency_key":"` + strings.Repeat("k", 201) + `"`), status: 422, want: `"field":"idempotency_key"`},
	{name: "a key with a NUL", ask: "POST " + toTX, body: body(`,"idempotency_key":"a\u0000b"`), status: 422, want: `"field":"idempotency_key"`},
	{name: "a key that is no text", ask: "POST " + toTX, body: body(`,"idempotency_key":"M` + "\xfc" + `ller-1"`), status: 400, want: "UTF-8"},
	{name: "a key with half a character", ask: "POST " + toTX, body: body(`,"idempotency_key":"M\ud800ller-1"`), status: 422, want: `"field":"idempotency_key"`},
	{name: "a key with what stands for none", ask: "POST " + toTX, body: body(`,"idempotency_key":"M\ufffdller-1"`), status: 422, want: `"field":"idempotency_key"`},
	{name: "a key in any script", ask: "POST " + toTX, body: body(`,"idempotency_key":"Müller 你好 \ud83d\ude00"`), status: 202},
	{name: "a key twice", ask: "POST " + toTX, body: body(`,"value":"6","idempotency_key":"k"`), status: 409, want: "key-taken"},
	{name: "no database", given: deskAway, ask: "POST " + toTX, body: body(""), status: 503, want: "database-unavailable"},
	{name: "too many wait", given: deskBusy, ask: "POST " + toTX, body: body(""), status: 503, want: "problem:busy", sends: "Retry-After: 1"},
	{name: "it hangs", given: deskHangs, ask: "POST " + toTX, body: body(""), status: 504, want: "database-timeout"},
	{name: "no accounts", given: noAccounts, ask: "POST " + toTX, body: body(""), status: 404, want: "no-accounts"},

	{name: "one", ask: "GET " + toTX + "/" + firstID, status: 200, want: `{"id":"` + firstID + `","account":"payer","chain":"evm:1","address":"0x01","to":"","value":"5","data":"0x","idempotency_key":"k","state":"finalized","fate":"done","nonce":3,"hash":"0xab","block":{"number":9,"hash":"0xcd"},"failed":false,"creator":"node-1","created_at":"1970-01-01T00:00:01Z"}`},
	{name: "one that waits", ask: "GET " + toTX + "/" + secondID, status: 200, want: `"state":null`},
	{name: "of no id", ask: "GET " + toTX + "/x", status: 404, want: "unknown-transaction"},
	{name: "one, no database", given: deskAway, ask: "GET " + toTX + "/" + firstID, status: 503, want: "database-unavailable"},
	{name: "one, it hangs", given: deskHangs, ask: "GET " + toTX + "/" + firstID, status: 504},
	{name: "all", ask: "GET " + toTX + "?account=payer&state=finalized&fate=done&limit=7", status: 200, want: `"transactions":[{`},
	{name: "too many", ask: "GET " + toTX + "?limit=1001", status: 400, want: "limit"},
	{name: "no state", ask: "GET " + toTX + "?state=lost", status: 400, want: "state"},
	{name: "no fate", ask: "GET " + toTX + "?fate=", status: 400, want: "fate"},
	{name: "nobody's", ask: "GET " + toTX + "?account=nobody", status: 422, want: "unknown-account"},
	{name: "all, no accounts", given: noAccounts, ask: "GET " + toTX, status: 404, want: "no-accounts"},
	{name: "all, no database", given: deskAway, ask: "GET " + toTX, status: 503},
	{name: "all, it hangs", given: deskHangs, ask: "GET " + toTX, status: 504},

	{name: "cancelled", ask: "POST " + toTX + "/" + secondID + "/cancel", status: 202, want: `"fate":"queued"`},
	{name: "too late", ask: "POST " + toTX + "/" + firstID + "/cancel", status: 409, want: "too-late"},
	{name: "cancelling nothing", ask: "POST " + toTX + "/x/cancel", status: 404, want: "unknown-transaction"},
	{name: "cancelling, no database", given: deskAway, ask: "POST " + toTX + "/" + secondID + "/cancel", status: 503},
	{name: "cancelling, it hangs", given: deskHangs, ask: "POST " + toTX + "/" + secondID + "/cancel", status: 504},
	{name: "reading a cancel", ask: "GET " + toTX + "/" + secondID + "/cancel", status: 405, sends: "Allow: POST"},
	{name: "deleting", ask: "DELETE " + toTX + "/" + secondID, status: 405, sends: "Allow: GET, HEAD"},
}

// Sending and cancelling need a token that operates; looking needs one that reads.
func TestTransactionsNeedTokens(t *testing.T) {
	w := newWorld()
	w.more = func(c *web.Config) { c.Tokens = webtest.Tokens(t) }
	api := w.handler(t)
	for _, c := range []struct {
		ask, secret string
		status      int
	}{
		{"POST " + toTX, "", 401},
		{"POST " + toTX, webtest.ReadSecret, 403},
		{"POST " + toTX, webtest.OperateSecret, 202},
		{"POST " + toTX + "/" + secondID + "/cancel", webtest.ReadSecret, 403},
		{"POST " + toTX + "/" + secondID + "/cancel", webtest.OperateSecret, 202},
		{"GET " + toTX, "", 401},
		{"GET " + toTX, webtest.ReadSecret, 200},
		{"GET " + toTX + "/" + firstID, webtest.ReadSecret, 200},
	} {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{ask: c.ask, body: body(""), header: "Authorization: Bearer " + c.secret}.request())
		if out.Code != c.status {
			t.Errorf("%s with %q: %d %s", c.ask, c.secret, out.Code, out.Body)
		}
	}
	if len(w.desk.asked) != 1 {
		t.Errorf("accepted: %+v", w.desk.asked)
	}
	if logs := w.logs.String(); !strings.Contains(logs, "actor=ops") || strings.Contains(logs, webtest.OperateSecret) {
		t.Errorf("the log: %s", logs)
	}
}

// So many look transactions up at once and no more, lists and single ones each; who comes
// then is told to come later, a place that is left is free again, and who sends needs none.
func TestLookingIsBounded(t *testing.T) {
	for _, path := range []string{toTX, toTX + "/" + firstID} {
		t.Run(path, func(t *testing.T) {
			w := newWorld()
			w.api.lists, w.api.looks, w.api.patience = make(chan struct{}, 1), make(chan struct{}, 1), time.Minute
			w.desk.hangs, w.desk.hung = true, make(chan struct{}, 2)
			api := w.handler(t)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				api.ServeHTTP(httptest.NewRecorder(), exchange{ask: "GET " + path}.request().WithContext(ctx))
			}()
			pgtest.Within(t, time.Minute, "the first looks", func() { <-w.desk.hung })
			ask := func(x exchange) *httptest.ResponseRecorder {
				out := httptest.NewRecorder()
				brief, cancel := context.WithCancel(t.Context())
				cancel() // or one that finds a place would hang as well
				api.ServeHTTP(out, x.request().WithContext(brief))
				return out
			}
			if out := ask(exchange{ask: "GET " + path}); out.Code != 503 || out.Header().Get("Retry-After") != "1" || !strings.Contains(out.Body.String(), "problem:busy") {
				t.Errorf("a second one: %d %s", out.Code, out.Body)
			}
			w.desk.hung = nil
			for _, x := range []exchange{{ask: "POST " + toTX, body: body("")}, {ask: "POST " + toTX + "/" + secondID + "/cancel"}} {
				if out := ask(x); strings.Contains(out.Body.String(), "problem:busy") {
					t.Errorf("%s waits for those who look: %d %s", x.ask, out.Code, out.Body)
				}
			}
			giveUp()
			pgtest.Within(t, time.Minute, "the first goes", func() { <-ended })
			w.desk.hangs = false
			if out := ask(exchange{ask: "GET " + path}); out.Code != 200 {
				t.Errorf("when the first has gone: %d %s", out.Code, out.Body)
			}
		})
	}
}

// What is asked for is what the desk hears.
func TestWishesAndSelectionsArriveWhole(t *testing.T) {
	w := newWorld()
	api := w.handler(t)
	for _, x := range []exchange{
		{ask: "POST " + toTX, body: body(`,"value":"5","data":"0x0102","gas":7,"idempotency_key":"k"`)},
		{ask: "GET " + toTX + "?account=payer&state=in_block&fate=open&limit=7"},
	} {
		api.ServeHTTP(httptest.NewRecorder(), x.request())
	}
	got := w.desk.asked[0]
	if fmt.Sprintf("%d %d %v %d %s", got.To[19], got.Value.Int64(), got.Data, got.Gas, got.Key) != "170 5 [1 2] 7 k" {
		t.Errorf("%+v", got)
	}
	if w.desk.most[0] != (Selection{Account: "payer", State: "in_block", Fate: "open", Most: 7}) {
		t.Errorf("%+v", w.desk.most)
	}
}

// The words of the document are those that the code takes.
func TestDocumentedWordsOfTransactions(t *testing.T) {
	s := webtest.Read(t, openAPI)
	for name, words := range map[string][]string{"TransactionState": pending.Statuses(), "Fate": pending.Standings()} {
		if got := fmt.Sprint(s.At(s.Root(), "components", "schemas", name, "enum")); got != fmt.Sprint(words) {
			t.Errorf("%s: %s, the code has %v", name, got, words)
		}
	}
}
