package contracts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	here    = pathContracts + "/0xC0"
	toTX    = here + "/transactions"
	openID  = "00000000000000070000000000000001"
	endedID = "00000000000000070000000000000002"
)

// fakeNode has two transactions.
type fakeNode struct {
	drained bool
	err     error
	hangs   bool
	found   []sequencer.Found
	asked   []string
	gaveUp  []ledger.Sequence
	status  *sequencer.Status
}

func (f *fakeNode) ready(ctx context.Context) error {
	if f.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fakeNode) Submit(ctx context.Context, contract, key string, request []byte, deadline uint64) (ledger.Sequence, error) {
	if err := f.ready(ctx); err != nil {
		return ledger.Sequence{}, err
	}
	switch {
	case strings.Contains(string(request), "nonsense"):
		return ledger.Sequence{}, &sequencer.RequestError{Err: errors.New("amount: is not above 0")}
	case key == "taken":
		return ledger.Sequence{}, fmt.Errorf("%w: %q", sequencer.ErrConflict, key)
	}
	f.asked = append(f.asked, fmt.Sprint(contract, " ", key, " ", string(request), " ", deadline))
	return f.found[1].Sequence, nil
}

func (f *fakeNode) Cancel(_ context.Context, _ string, s ledger.Sequence) error {
	f.gaveUp = append(f.gaveUp, s)
	return nil
}

func (f *fakeNode) Drain(ctx context.Context, _ string, on bool) error {
	f.drained = on
	return f.ready(ctx)
}

func (f *fakeNode) Story(ctx context.Context, _ string, s ledger.Sequence) ([]sequencer.Moment, error) {
	return []sequencer.Moment{
		{At: time.Unix(1, 0), Event: "offered", State: "delegated", With: "n"},
		{At: time.Unix(2, 0), Event: "dispatched", State: "noting", With: "n", Assembled: ledger.Hash{0xab}, Endorsers: []ledger.Account{"b", "?"}, Block: s.Counter, Why: "why"},
	}, f.ready(ctx)
}

func (f *fakeNode) Status(ctx context.Context, _ string) (sequencer.Status, error) {
	if f.status != nil {
		return *f.status, f.ready(ctx)
	}
	return sequencer.Status{
		Head: 12, Final: 10, Range: 3, Takes: 11, Coordinator: "n", Next: "b", Order: []ledger.Account{"n", "b"}, NextOrder: []ledger.Account{"b", "n"}, Intents: map[string]int{"accepted": 2}, Missing: 1, Waits: `account "ops": no money`, Nudges: 6, Drained: f.drained,
		Unsigned: "it is damaged", Coordinates: map[string]int{"endorsing": 4}, Landed: 12, Skipped: map[string]uint64{"missing": 2, "expired": 1, "repeated": 0},
		Members: []sequencer.Member{{Account: "n", Final: 9, At: time.Unix(5, 0), Differs: true, Forges: true, Idle: true}},
	}, f.ready(ctx)
}

func (f *fakeNode) Look(ctx context.Context, contract string) (sequencer.Status, error) {
	return f.Status(ctx, contract)
}

func (f *fakeNode) List(ctx context.Context, _ string, by sequencer.Filter) (all []sequencer.Found, err error) {
	for _, one := range f.found {
		if (by.Sequence == ledger.Sequence{} || by.Sequence == one.Sequence) && len(all) < by.Most {
			all = append(all, one)
		}
	}
	return all, f.ready(ctx)
}

// world is an API over a fake node.
type world struct {
	node *fakeNode
	gone bool
	logs *webtest.Log
	api  *api
	more func(*web.Config)
}

func (w *world) Contracts() ([]declared, ledger.Account, names) {
	d := ledger.Contract{Address: "0xc0", Members: []ledger.Account{"b", "n"}, Committee: []ledger.Account{"n"}, Needed: 1, Range: 100, Domain: "notes/1"}
	return []declared{{d, "main"}}, "b", names{"b": "bank", "n": "north"}
}

func (w *world) Node() running {
	if w.gone {
		return nil
	}
	return w.node
}

func newWorld() *world {
	row := func(n uint64) sequencer.Found {
		return sequencer.Found{
			Sequence: ledger.Sequence{Lineage: 7, Counter: n}, Key: fmt.Sprint("key ", n), Payload: []byte(`{"pay":1}`), Deadline: 99,
			Number: 10 + n, Accepted: time.Unix(int64(n)-1, 0),
		}
	}
	ended := row(2)
	ended.Ended, ended.Result = true, ledger.Result{Confirmed: true, Assembled: ledger.Hash{0xab}, Block: 8}
	w := &world{logs: &webtest.Log{}, node: &fakeNode{found: []sequencer.Found{ended, row(1)}}}
	w.api = newAPI(w, slog.New(slog.NewTextHandler(w.logs, nil)))
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	return webtest.Site(t, w.logs, w.api.routes(), func(c *web.Config) {
		c.Board = web.NewBoard()
		c.Board.Offer(kindContract, w.api.selects)
		if w.more != nil {
			w.more(c)
		}
	}).API()
}

type exchange = webtest.Exchange[*world]

// Each route gives every answer that is documented, and no other.
func TestAnswers(t *testing.T) {
	ours := func(operation string) bool { return strings.Contains(operation, pathContracts) }
	webtest.Answers(t, webtest.Read(t, openAPI), answers(), ours, newWorld, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
}

func fails(err error) func(*world) { return func(w *world) { w.node.err = err } }

func unread(w *world) {
	w.node.status = &sequencer.Status{Unread: "it sleeps", Intents: map[string]int{}}
}

func elsewhere(w *world) { w.gone = true }
func away(w *world)      { w.node.err = webtest.ErrAway }
func hangs(w *world)     { w.node.hangs, w.api.patience = true, 20*time.Millisecond }

func answers() []exchange {
	const (
		hash  = "0xab00000000000000000000000000000000000000000000000000000000000000"
		ended = `"id":"` + endedID + `","contract":"0xc0","idempotency_key":"key 2","request":{"pay":1},"deadline":99,"fate":"confirmed","attempt":"` + hash + `","block":8,"accepted_at":"1970-01-01T00:00:01Z"`
		story = `[{"at":"1970-01-01T00:00:01Z","event":"offered","state":"delegated","node":"north"},{"at":"1970-01-01T00:00:02Z","event":"dispatched","state":"noting","node":"north","attempt":"` + hash + `","endorsers":["bank","0x3f"],"block":2,"why":"why"}]`
		one   = `{"address":"0xc0","chain":"main","domain":"notes/1","endorsements":1,"warning":"1 endorsement of 2 members is no majority: under a partition both sides can spend, and the ledger refuses what comes second; a transaction takes 11 blocks here, and a range of 100 is shorter than 10 times that: much of the work moves to another coordinator before it is done","head":12,"final":10,"range":3,"range_size":100,"takes":11,"coordinator":"north","next_coordinator":"bank","order":["north","bank"],"next_order":["bank","north"],"open":{"accepted":2},"coordinating":{"endorsing":4},"missing":1,"landed":12,"skipped":{"expired":1,"missing":2},"unsigned":"it is damaged","waits":"account \"ops\": no money","nudges":6,"drained":false,"members":[{"name":"bank","account":"0x62","may_coordinate":false,"this_node":true,"final":10,"heard_at":null,"differs":false,"signs_wrongly":false,"lands_nothing":false},{"name":"north","account":"0x6e","may_coordinate":true,"this_node":false,"final":9,"heard_at":"1970-01-01T00:00:05Z","differs":true,"signs_wrongly":true,"lands_nothing":true}]}`
		pay   = `{"request":{"pay":1},"idempotency_key":"k","deadline":50}`
	)
	all := []exchange{
		{Name: "all", Ask: "GET " + pathContracts, Status: 200, Want: `"contracts":[{`},
		{Name: "one", Ask: "GET " + here, Status: 200, Want: one},
		{Name: "one that is not read", Given: unread, Ask: "GET " + here, Status: 200, Want: `"head":null,"final":null,"unread":"it sleeps","range":null,"range_size":100,"takes":null,"coordinator":null,"next_coordinator":null,"order":[],"next_order":[]`},
		{Name: "one that is not read, among all", Given: unread, Ask: "GET " + pathContracts, Status: 200, Want: `"final":null,"unread":"it sleeps"`},
		{Name: "drained", Ask: "POST " + here + "/drain", Status: 200, Want: `"drained":true`},
		{Name: "undrained", Given: func(w *world) { w.node.drained = true }, Ask: "POST " + here + "/undrain", Status: 200, Want: `"drained":false`},
		{Name: "accepted", Ask: "POST " + toTX, Body: pay, Status: 202, Want: `{"id":"` + openID + `"}`, Sends: "Location: /v1/contracts/0xc0/transactions/" + openID},
		{Name: "without a key", Ask: "POST " + toTX, Body: `{"request":"anything"}`, Status: 202, Want: openID},
		{Name: "no JSON", Ask: "POST " + toTX, Body: `{"request":`, Status: 400, Want: "not what is documented"},
		{Name: "a misspelt key", Ask: "POST " + toTX, Body: `{"request":1,"idempotency-key":"k"}`, Status: 400, Want: "idempotency-key"},
		{Name: "plain text", Ask: "POST " + toTX, Body: "x", Header: "Content-Type: text/plain", Status: 415},
		{Name: "too large", Ask: "POST " + toTX, Body: `{"request":"` + strings.Repeat("a", 400<<10) + `"}`, Status: 413, Want: "is not read"},
		{Name: "nothing", Ask: "POST " + toTX, Body: `{}`, Status: 422, Want: `"field":"request"`},
		{Name: "what the domain does not take", Ask: "POST " + toTX, Body: `{"request":"nonsense"}`, Status: 422, Want: `"detail":"request: amount: is not above 0"`},
		{Name: "a long key", Ask: "POST " + toTX, Body: `{"request":1,"idempotency_key":"` + strings.Repeat("k", 201) + `"}`, Status: 422, Want: `"field":"idempotency_key"`},
		{Name: "a key with a NUL", Ask: "POST " + toTX, Body: `{"request":1,"idempotency_key":"a\u0000b"}`, Status: 422, Want: `"field":"idempotency_key"`},
		{Name: "a key with a replacement character", Ask: "POST " + toTX, Body: `{"request":1,"idempotency_key":"a\ufffdb"}`, Status: 422, Want: `"field":"idempotency_key"`},
		{Name: "the header's key of another transaction", Ask: "POST " + toTX, Body: `{"request":1}`, Header: "Idempotency-Key: taken", Status: 409, Want: "key-taken"},
		{Name: "two keys", Ask: "POST " + toTX, Body: `{"request":1,"idempotency_key":"a"}`, Header: "Idempotency-Key: b", Status: 400, Want: "urn:conch:problem:bad-key"},
		{Name: "a key of another transaction", Ask: "POST " + toTX, Body: `{"request":1,"idempotency_key":"taken"}`, Status: 409, Want: "key-taken"},
		{Name: "the newest one", Ask: "GET " + toTX + "?limit=1", Status: 200, Want: `{"transactions":[{` + ended + `}],"next_before":12}`},
		{Name: "older ones", Ask: "GET " + toTX + "?before=12", Status: 200, Want: `"transactions":[{`},
		{Name: "a bad cursor", Ask: "GET " + toTX + "?before=x", Status: 400, Want: "next_before"},
		{Name: "too many", Ask: "GET " + toTX + "?limit=1001", Status: 400, Want: "limit"},
		{Name: "one that has ended", Ask: "GET " + toTX + "/" + endedID, Status: 200, Want: `{` + ended + `,"story":` + story + `}`},
		{Name: "one that is open", Ask: "GET " + toTX + "/" + openID, Status: 200, Want: `"fate":"open","why":"why","attempt":null,"block":null`},
		{Name: "an unknown id", Ask: "GET " + toTX + "/00000000000000070000000000000009", Status: 404, Want: "unknown-transaction"},
		{Name: "no id", Ask: "GET " + toTX + "/x", Status: 404, Want: "unknown-transaction"},
		{Name: "cancelled", Ask: "POST " + toTX + "/" + openID + "/cancel", Status: 202, Want: `"fate":"open"`},
		{Name: "too late", Ask: "POST " + toTX + "/" + endedID + "/cancel", Status: 409, Want: "the transaction is confirmed"},
		{Name: "an unknown id is cancelled", Ask: "POST " + toTX + "/x/cancel", Status: 404, Want: "unknown-transaction"},
	}
	for _, ask := range []string{"GET " + pathContracts, "GET " + here, "POST " + toTX, "GET " + toTX, "GET " + toTX + "/" + openID, "POST " + toTX + "/" + openID + "/cancel", "POST " + here + "/drain", "POST " + here + "/undrain"} {
		body, said := "", `"detail":"%s"`
		switch {
		case ask == "POST "+toTX:
			body, said = pay, "%s; what was asked for may be stored: ask again, with the same idempotency_key"
		case strings.HasSuffix(ask, "drain"):
			said = "%s; it may be done: ask again"
		case strings.HasSuffix(ask, "/cancel"):
			said = "%s; the transaction may be given up: ask again"
		}
		says := func(text string) string { return fmt.Sprintf(said, text) }
		all = append(
			all,
			exchange{Name: "another process leads", Given: elsewhere, Ask: ask, Body: body, Status: 503, Want: "not-leading", Sends: "Retry-After: 1"},
			exchange{Name: "another process leads, and nothing is stored", Given: elsewhere, Ask: ask, Body: body, Status: 503, Want: "has stored nothing"},
			exchange{Name: "the node stops", Given: fails(sequencer.ErrStopped), Ask: ask, Body: body, Status: 503, Want: "term-ended"},
			exchange{Name: "the node stops, and it may be stored", Given: fails(sequencer.ErrStopped), Ask: ask, Body: body, Status: 503, Want: strings.TrimSuffix(says("this process has just stopped running the contracts' node"), `"`)},
			exchange{Name: "the node has it not", Given: fails(sequencer.ErrContract), Ask: ask, Body: body, Status: 503, Want: "not-leading"},
			exchange{Name: "its chain is away", Given: fails(&sequencer.UnreadError{Contract: "0xc0", Why: "it rains"}), Ask: ask, Body: body, Status: 503, Want: "contract-unread", Sends: "Retry-After: 5"},
			exchange{Name: "its chain is away, and is blamed", Given: fails(&sequencer.UnreadError{Contract: "0xc0", Why: "it rains"}), Ask: ask, Body: body, Status: 503, Want: "nothing was stored: it rains. The node goes on trying"},
			exchange{Name: "too much waits", Given: fails(sequencer.ErrBusy), Ask: ask, Body: body, Status: 503, Want: "problem:busy", Sends: "Retry-After: 1"},
			exchange{Name: "the node is slow", Given: fails(fmt.Errorf("%w: %w", sequencer.ErrSlow, context.DeadlineExceeded)), Ask: ask, Body: body, Status: 504, Want: "node-timeout"},
			exchange{Name: "the node is slow, and it may be stored", Given: fails(sequencer.ErrSlow), Ask: ask, Body: body, Status: 504, Want: says("the contracts' node did not answer in time")},
			exchange{Name: "no database", Given: away, Ask: ask, Body: body, Status: 503, Want: "database-unavailable"},
			exchange{Name: "no database, and it may be stored", Given: away, Ask: ask, Body: body, Status: 503, Want: strings.TrimPrefix(says(""), `"detail":"`)},
			exchange{Name: "the database hangs", Given: hangs, Ask: ask, Body: body, Status: 504, Want: "database-timeout"},
			exchange{Name: "the database hangs, and it may be stored", Given: hangs, Ask: ask, Body: body, Status: 504, Want: says("the database did not answer in time")},
		)
		if ask != "GET "+pathContracts {
			all = append(all, exchange{Name: "another contract", Ask: strings.Replace(ask, "0xC0", "0xC1", 1), Body: body, Status: 404, Want: "unknown-contract"})
		}
	}
	return all
}

// To send and to cancel takes a token that operates; to look takes one that reads.
func TestTokens(t *testing.T) {
	w := newWorld()
	w.more = func(c *web.Config) { c.Tokens = webtest.Tokens(t) }
	handler := w.handler(t)
	for _, c := range []struct {
		ask, secret string
		status      int
	}{
		{"POST " + toTX, "", 401},
		{"POST " + toTX, webtest.ReadSecret, 403},
		{"POST " + toTX, webtest.OperateSecret, 202},
		{"POST " + toTX + "/" + openID + "/cancel", webtest.ReadSecret, 403},
		{"POST " + toTX + "/" + openID + "/cancel", webtest.OperateSecret, 202},
		{"POST " + here + "/drain", webtest.ReadSecret, 403},
		{"POST " + here + "/undrain", webtest.ReadSecret, 403},
		{"GET " + here, "", 401},
		{"GET /v1/events?contract=0xC0", "", 401},
		{"HEAD /v1/events?contract=0xC0", webtest.ReadSecret, 200},
		{"GET " + here, webtest.ReadSecret, 200},
		{"GET " + toTX + "/" + openID, webtest.ReadSecret, 200},
	} {
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, exchange{Ask: c.ask, Body: `{"request":{"pay":1},"idempotency_key":"k"}`, Header: "Authorization: Bearer " + c.secret}.Request())
		if out.Code != c.status {
			t.Errorf("%s with token %q: got %d %s, want %d", c.ask, c.secret, out.Code, out.Body, c.status)
		}
	}
	if len(w.node.asked) != 1 || w.node.asked[0] != `0xc0 k {"pay":1} 0` || len(w.node.gaveUp) != 1 {
		t.Errorf("the node was asked for %q and to give up %v, want one each", w.node.asked, w.node.gaveUp)
	}
	if logs := w.logs.String(); !strings.Contains(logs, "actor=ops") || strings.Contains(logs, webtest.OperateSecret) || strings.Contains(logs, "pay") {
		t.Errorf("got the log %s, want the actor, and neither a token nor what was asked for", logs)
	}
}
