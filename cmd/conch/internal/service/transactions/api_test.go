package transactions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
)

const (
	firstID  = "00000000-0000-4000-8000-000000000001"
	secondID = "00000000-0000-4000-8000-000000000002"
	thirdID  = "00000000-0000-4000-8000-000000000003" // it has reverted
	toTX     = "/v1/transactions"
	to20     = `"to":"0x00000000000000000000000000000000000000aa"`
)

// payerAccount is the account of the tests.
var payerAccount = Account{Name: "payer", Address: chain.Account(strings.Repeat("\x01", 20)), Chain: Chain{Kind: KindEVM, ChainID: 1}, Scope: "pending:evm:1:payer"}

// fakeStore is the store of a chain with two transactions.
type fakeStore struct {
	pending.Store // of no use to callers
	kept          map[pending.ID]pending.Record
	err           error
	hangs         bool
	hung          chan struct{} // gets an element for each call that hangs; nil: none

	mu    sync.Mutex
	looks int // calls of Get
	asked []pending.Intent
	lists []pending.Filter

	counts []pending.Count
	over   bool // as SayOver was told
}

func newFakeStore() *fakeStore {
	first, second, third, nonce := testID(firstID), testID(secondID), testID(thirdID), uint64(3)
	return &fakeStore{kept: map[pending.ID]pending.Record{
		first: {
			Intent: pending.Intent{ID: first, Account: payerAccount.Address, Key: "k", Call: chain.Call{Value: big.NewInt(5)}, Creator: "node-1", Token: "others", Created: time.Unix(1, 0)},
			Fate:   pending.Done, Index: &nonce, Version: 9, Place: 48, Changed: time.Unix(7, 0),
			Last: pending.Change{Status: pending.Finalized, Hash: "\xab", Block: chain.Block{Number: 9, Hash: "\xcd"}, Effect: chain.EffectOf(false), Witnesses: [2]string{"https://a", "https://b"}},
		},
		second: {
			Intent: pending.Intent{ID: second, Account: payerAccount.Address, Token: "ops", Created: time.Unix(2, 0)}, Version: 1,
			Hold: pending.Hold{Intent: first, Why: "it cannot pay"}, HoldSince: time.Unix(3, 0),
		},
		third: {
			Intent: pending.Intent{ID: third, Account: payerAccount.Address, Call: chain.Call{Data: []byte{1}, Gas: 70_000}, Created: time.Unix(3, 0)},
			Fate:   pending.Done, Index: &nonce, Version: 4,
			Last: pending.Change{Status: pending.Finalized, Hash: "\xab", Block: chain.Block{Number: 9, Hash: "\xcd"}, Effect: chain.EffectOf(true)},
		},
	}}
}

func testID(text string) pending.ID {
	id, err := parseID(text)
	if err != nil {
		panic(err)
	}
	return id
}

func (f *fakeStore) ready(ctx context.Context) error {
	if f.hangs {
		if f.hung != nil {
			f.hung <- struct{}{}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fakeStore) Accept(ctx context.Context, in pending.Intent) (pending.Intent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in.ID = testID(firstID)
	if known := f.kept[in.ID]; in.Key == known.Key {
		if in.Call.Value.Cmp(known.Call.Value) != 0 {
			return in, pending.ErrConflict
		}
		in.Token = known.Token
	}
	f.asked = append(f.asked, in)
	return in, f.ready(ctx)
}

func (f *fakeStore) Get(ctx context.Context, id pending.ID) (pending.Record, error) {
	f.mu.Lock()
	f.looks++
	r, known := f.kept[id]
	f.mu.Unlock()
	if !known {
		return r, pending.ErrNotFound
	}
	return r, f.ready(ctx)
}

func (f *fakeStore) List(ctx context.Context, filter pending.Filter) ([]pending.Record, error) {
	f.lists = append(f.lists, filter)
	if filter.Key == "n" {
		return nil, f.ready(ctx)
	}
	if filter.Token != "" {
		return []pending.Record{f.kept[testID(secondID)]}, f.ready(ctx)
	}
	return []pending.Record{f.kept[testID(firstID)]}, f.ready(ctx)
}

func (f *fakeStore) Cancel(ctx context.Context, id pending.ID) error {
	if _, known := f.kept[id]; !known {
		return pending.ErrNotFound
	}
	return f.ready(ctx)
}

func (*fakeStore) Unfinished(context.Context, chain.Account, string, []byte) ([]pending.Record, error) {
	return nil, nil
}

func (f *fakeStore) Counts(ctx context.Context) ([]pending.Count, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts, f.ready(ctx)
}

// world is an API over a fake store.
type world struct {
	store *fakeStore
	api   *api
	logs  *webtest.Log
	more  func(*web.Config)

	tokens bool  // the node has tokens
	reads  int   // of policies
	count  int64 // of transactions in this minute
	quotes func(Account, chain.Call) (chain.Quote, error)

	reason  string // why the call of the third transaction reverts
	fault   error
	replays int

	receipts receiptsOf
	stands   func(c Chain, accounts []chain.Account) ([]chain.AccountState, error)
	immortal bool // no account ceases to exist
}

func newWorld() *world {
	w := &world{store: newFakeStore(), logs: &webtest.Log{}}
	log := slog.New(slog.NewTextHandler(w.logs, nil))
	s := newService(node.Frame{ID: "node-1", Log: log}, nil)
	s.accounts.stores[payerAccount.Chain.ID()] = w.store
	s.accounts.configured = []Account{payerAccount}
	s.transactions.reasons = newReasons(func(ctx context.Context, a Account, call chain.Call, height uint64) (string, error) {
		if w.replays++; a.Name != payerAccount.Name || call.Gas != 70_000 || height != 8 {
			return "", fmt.Errorf("asked about %s, %+v, %d", a.Name, call, height)
		}
		if w.store.hangs {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return w.reason, w.fault
	})
	s.transactions.receipts = newReceipts(func(ctx context.Context, _ Chain, in chain.Inclusion) (chain.Receipt, error) {
		if w.store.hangs {
			<-ctx.Done()
			return chain.Receipt{}, ctx.Err()
		}
		return w.receipts.ask(in)
	})
	s.transactions.standings = newStandings(func(_ context.Context, c Chain, accounts []chain.Account) ([]chain.AccountState, error) {
		if w.stands != nil {
			return w.stands(c, accounts)
		}
		return standing(accounts)
	})
	s.transactions.lives = func(context.Context, Chain) (bool, error) { return !w.immortal, nil }
	s.transactions.quotes = newQuotes(func(ctx context.Context, a Account, call chain.Call, _ chain.Speed) (chain.Quote, error) {
		if w.quotes != nil {
			return w.quotes(a, call)
		}
		return quoted(nil), nil
	})
	w.api = newAPI(s, log)
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	more := w.more
	if w.tokens {
		more = func(c *web.Config) { c.Tokens = webtest.Tokens(t) }
	}
	return webtest.Site(t, w.logs, w.api.routes(), more).API()
}

type exchange = webtest.Exchange[*world]

// Each route gives every answer that is documented, and no other.
func TestAnswers(t *testing.T) {
	ours := func(operation string) bool {
		return strings.Contains(operation, pathTransactions) || strings.Contains(operation, pathAccounts) || strings.Contains(operation, pathSeries)
	}
	webtest.Answers(t, webtest.Read(t, openAPI), slices.Concat(transactionAnswers, policyAnswers, batchAnswers, wishAnswers, dryAnswers, seriesAnswers, lifeAnswers), ours, newWorld, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
}

func databaseAway(w *world)   { w.store.err = webtest.ErrAway }
func busy(w *world)           { w.store.err = pending.ErrBusy }
func databaseHangs(w *world)  { w.store.hangs, w.api.patience = true, 50*time.Millisecond }
func body(more string) string { return `{"account":"payer",` + to20 + more + `}` }

var transactionAnswers = []exchange{
	{Name: "accepted", Ask: "POST " + toTX, Body: body(`,"value":"5","data":"0x01","idempotency_key":"k","gas":21016`), Status: 202, Want: `{"id":"` + firstID + `"}`, Sends: "Location: " + toTX + "/" + firstID},
	{Name: "without a value", Ask: "POST " + toTX, Body: body(""), Status: 202, Want: firstID},
	{Name: "a call of 64 kB", Ask: "POST " + toTX, Body: body(`,"data":"0x` + strings.Repeat("ab", 64<<10) + `"`), Status: 202, Want: firstID},
	{Name: "too large", Ask: "POST " + toTX, Body: body(`,"data":"0x` + strings.Repeat("ab", 200<<10) + `"`), Status: 413, Want: "is not read"},
	{Name: "more than nodes take", Ask: "POST " + toTX, Body: body(`,"data":"0x` + strings.Repeat("ab", 128<<10) + `"`), Status: 422, Want: "has 131072 bytes, and nodes take at most"},
	{Name: "more code than chains take", Ask: "POST " + toTX, Body: `{"account":"payer","gas":9000000,"data":"0x` + strings.Repeat("ab", 48<<10+1) + `"}`, Status: 422, Want: "has 49153 bytes, and chains take at most"},
	{Name: "no JSON", Ask: "POST " + toTX, Body: `{"account":`, Status: 400, Want: "not what is documented"},
	{Name: "a number for a value", Ask: "POST " + toTX, Body: body(`,"value":5`), Status: 400, Want: "value"},
	{Name: "a misspelt key", Ask: "POST " + toTX, Body: body(`,"idempotency-key":"k"`), Status: 400, Want: "idempotency-key"},
	{Name: "plain text", Ask: "POST " + toTX, Body: "x", Header: "Content-Type: text/plain", Status: 415},
	{Name: "an empty body", Ask: "POST " + toTX, Status: 422, Want: `"field":"account"`},
	{Name: "an unknown account", Ask: "POST " + toTX, Body: `{"account":"x",` + to20 + `}`, Status: 422, Want: "unknown-account"},
	{Name: "bad hex", Ask: "POST " + toTX, Body: `{"account":"payer","to":"0xzz"}`, Status: 422, Want: `"field":"to"`},
	{Name: "odd hex", Ask: "POST " + toTX, Body: body(`,"data":"0x1"`), Status: 422, Want: `"field":"data"`},
	{Name: "a wrong checksum", Ask: "POST " + toTX, Body: `{"account":"payer","to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"}`, Status: 422, Want: `"detail":"to: has a wrong checksum (EIP-55), so a character or the case of a letter is wrong: compare it with where you have it from; with these digits it is 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","field":"to"`},
	{Name: "the right checksum", Ask: "POST " + toTX, Body: `{"account":"payer","to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}`, Status: 202},
	{Name: "capital letters", Ask: "POST " + toTX, Body: `{"account":"payer","to":"0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"}`, Status: 202},
	{Name: "an address without 0x", Ask: "POST " + toTX, Body: `{"account":"payer","to":"5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"}`, Status: 422, Want: `does not begin with 0x`},
	{Name: "a name of ENS", Ask: "POST " + toTX, Body: `{"account":"payer","to":"payee.eth"}`, Status: 422, Want: `it is a name`},
	{Name: "an account with a wrong checksum", Ask: "POST " + toTX, Body: `{"account":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",` + to20 + `}`, Status: 422, Want: `"field":"account"`},
	{Name: "a short address", Ask: "POST " + toTX, Body: `{"account":"payer","to":"0x01"}`, Status: 422, Want: `"field":"to"`},
	{Name: "too little gas", Ask: "POST " + toTX, Body: body(`,"data":"0x01","gas":21015`), Status: 422, Want: `"field":"gas"`},
	{Name: "a negative value", Ask: "POST " + toTX, Body: body(`,"value":"-1"`), Status: 422, Want: `"field":"value"`},
	{Name: "a value with a point", Ask: "POST " + toTX, Body: body(`,"value":"1.5"`), Status: 422, Want: `"field":"value"`},
	{Name: "no value at all", Ask: "POST " + toTX, Body: body(`,"value":""`), Status: 422, Want: `"field":"value"`},
	{Name: "a value of 257 bits", Ask: "POST " + toTX, Body: body(`,"value":"` + new(big.Int).Lsh(big.NewInt(1), 256).String() + `"`), Status: 422, Want: "256 bits"},
	{Name: "a long key", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"` + strings.Repeat("k", 201) + `"`), Status: 422, Want: `"field":"idempotency_key"`},
	{Name: "a key with a NUL", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"a\u0000b"`), Status: 422, Want: `"field":"idempotency_key"`},
	{Name: "a key that is not UTF-8", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"M` + "\xfc" + `ller-1"`), Status: 400, Want: "UTF-8"},
	{Name: "a key with half a surrogate pair", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"M\ud800ller-1"`), Status: 422, Want: `"field":"idempotency_key"`},
	{Name: "a key with a replacement character", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"M\ufffdller-1"`), Status: 422, Want: `"field":"idempotency_key"`},
	{Name: "a key of conch's own", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"conch:nudge 0xab"`), Status: 422, Want: `begins with conch:, as the keys of conch's own`},
	{Name: "a key in any script", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"Müller 你好 \ud83d\ude00"`), Status: 202},
	{Name: "a key of another transaction", Ask: "POST " + toTX, Body: body(`,"value":"6","idempotency_key":"k"`), Status: 409, Want: "key-taken"},
	{Name: "a key in the header", Ask: "POST " + toTX, Body: body(`,"value":"5"`), Header: "Idempotency-Key: k", Status: 202, Want: firstID},
	{Name: "the header's key of another transaction", Ask: "POST " + toTX, Body: body(`,"value":"6"`), Header: `Idempotency-Key: "k"`, Status: 409, Want: "key-taken"},
	{Name: "a key in both", Ask: "POST " + toTX, Body: body(`,"value":"6","idempotency_key":"k"`), Header: "Idempotency-Key: k", Status: 409, Want: "key-taken"},
	{Name: "two keys", Ask: "POST " + toTX, Body: body(`,"idempotency_key":"k"`), Header: "Idempotency-Key: l", Status: 400, Want: "urn:conch:problem:bad-key"},
	{Name: "a key of conch's own in the header", Ask: "POST " + toTX, Body: body(""), Header: "Idempotency-Key: conch:nudge", Status: 422, Want: `begins with conch:, as the keys of conch's own`},
	{Name: "no database", Given: databaseAway, Ask: "POST " + toTX, Body: body(""), Status: 503, Want: "database-unavailable"},
	{Name: "too many callers", Given: busy, Ask: "POST " + toTX, Body: body(""), Status: 503, Want: "problem:busy", Sends: "Retry-After: 1"},
	{Name: "the database hangs", Given: databaseHangs, Ask: "POST " + toTX, Body: body(""), Status: 504, Want: "database-timeout"},

	{Name: "one", Ask: "GET " + toTX + "/" + firstID, Status: 200, Want: `{"id":"` + firstID + `","version":9,"account":"payer","chain":"evm:1","address":"` + payerAccount.Address.String() + `","to":"","value":"5","data":"0x","idempotency_key":"k","state":"finalized","fate":"done","outcome":"succeeded","waiting_for":null,"nonce":3,"hash":"0xab","block":{"number":9,"hash":"0xcd"},"witnesses":["https://a","https://b"],"failed":false,"effect":"ok","creator":"node-1","created_at":"1970-01-01T00:00:01Z","changed_at":"1970-01-01T00:00:07Z","speed":"normal","receipt":{"status":"succeeded","gas_used":21000,"effective_gas_price":"7","fee":"147000","contract_address":null,"logs":[],"logs_cut":false,"log_count":0,"witnesses":["https://a","https://b"]},"attempts":[{"hash":"0xaa","nonce":3,"max_fee":"9","max_tip":"1","gas":30000,"filler":false,"signed_at":"1970-01-01T00:00:05Z","in_block":false},{"hash":"0xab","nonce":3,"max_fee":"12","max_tip":null,"gas":30000,"filler":false,"signed_at":"1970-01-01T00:00:06Z","in_block":true}]}`},
	{Name: "one in a block, of which no endpoint can say", Given: func(w *world) { w.receipts.err = errors.New("a\x1b[2J is away") }, Ask: "GET " + toTX + "/" + firstID, Status: 200, Want: `"receipt":null,"receipt_unknown":"a\\u001b[2J is away","attempts":[{`},
	{Name: "one with a contract and logs", Given: (*world).hasLogs, Ask: "GET " + toTX + "/" + firstID, Status: 200, Want: `"contract_address":"0x0202020202020202020202020202020202020202","logs":[{"address":"0x03","topics":["0x04"],"data":"0x05"}],"logs_cut":false,"log_count":1`},
	{Name: "one with more logs than are shown", Given: (*world).hasManyLogs, Ask: "GET " + toTX + "/" + firstID, Status: 200, Want: `"logs":[],"logs_cut":true,"log_count":2`},
	{Name: "one that has reverted has its receipt too", Ask: "GET " + toTX + "/" + thirdID, Status: 200, Want: `"receipt":{"status":"reverted",`},
	{Name: "one without a block", Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"receipt":null,"attempts":[]}`},
	{Name: "one that a node does not take", Given: (*world).isRefused, Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"in_block":false,"error":"not accepted: https://a: no\\u202e"}]}`},
	{Name: "one in a list", Ask: "GET " + toTX, Status: 200, Want: `"created_at":"1970-01-01T00:00:01Z","changed_at":"1970-01-01T00:00:07Z","speed":"normal"}]`},
	{Name: "one without a nonce", Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"state":null`},
	{Name: "one that waits", Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"waiting_for":{"reason":"behind transaction ` + firstID + `: it cannot pay","intent":"` + firstID + `","since":"1970-01-01T00:00:03Z"},"nonce":null,"hash":null,"block":null,"witnesses":null`},
	{Name: "one that has not ended", Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"fate":"queued","outcome":null`},
	{Name: "one that has reverted", Given: func(w *world) { w.reason = "no money" }, Ask: "GET " + toTX + "/" + thirdID, Status: 200, Want: `"fate":"done","outcome":"reverted","revert":{"reason":"no money","replayed_at":8}`},
	{Name: "one that has reverted with dangerous words", Given: func(w *world) { w.reason = "a\x1b[2J\u202eb" + strings.Repeat("c", 400) }, Ask: "GET " + toTX + "/" + thirdID, Status: 200, Want: `"revert":{"reason":"a\\u001b[2J\\u202eb` + strings.Repeat("c", 283) + `","replayed_at":8}`},
	{Name: "one that has reverted, nobody can say why", Given: func(w *world) { w.fault = errors.New("missing trie node") }, Ask: "GET " + toTX + "/" + thirdID, Status: 200, Want: `"revert":{"unknown":"missing trie node","replayed_at":8}`},
	{Name: "one that has reverted, and would not again", Ask: "GET " + toTX + "/" + thirdID, Status: 200, Want: `"revert":{"unknown":"the call does not fail on the state before its block`},
	{Name: "one that has ended is not waited for", Ask: "GET " + toTX + "/" + firstID + "?wait=60s&until=final", Status: 200, Want: `"outcome":"succeeded"`},
	{Name: "one that has ended has passed a block", Ask: "GET " + toTX + "/" + firstID + "?wait=60s&until=in_block", Status: 200, Want: `"outcome":"succeeded"`},
	{Name: "a newer version is not waited for", Ask: "GET " + toTX + "/" + firstID + "?wait=60s&until=any&version=8", Status: 200, Want: `"version":9`},
	{Name: "a wait that is over", Ask: "GET " + toTX + "/" + secondID + "?wait=1ms&until=nonce", Status: 200, Want: `"fate":"queued"`},
	{Name: "a wait for any change that is over", Ask: "GET " + toTX + "/" + firstID + "?wait=1ms&until=any", Status: 200, Want: `"version":9`},
	{Name: "a long wait", Ask: "GET " + toTX + "/" + firstID + "?wait=61s", Status: 400, Want: `"field":"wait"`},
	{Name: "a wait without a unit", Ask: "GET " + toTX + "/" + firstID + "?wait=30", Status: 400, Want: `"field":"wait"`},
	{Name: "until something else", Ask: "GET " + toTX + "/" + firstID + "?wait=1s&until=done", Status: 400, Want: `"field":"until"`},
	{Name: "a version that is none", Ask: "GET " + toTX + "/" + firstID + "?until=any&version=-1", Status: 400, Want: `"field":"version"`},
	{Name: "waiting for an unknown id", Ask: "GET " + toTX + "/x?wait=1s", Status: 404, Want: "unknown-transaction"},
	{Name: "waiting, no database", Given: databaseAway, Ask: "GET " + toTX + "/" + firstID + "?wait=1s", Status: 503, Want: "database-unavailable"},
	{Name: "waiting, the database hangs", Given: databaseHangs, Ask: "GET " + toTX + "/" + firstID + "?wait=1s", Status: 504},
	{Name: "too many wait", Given: func(w *world) { w.api.news.places = 0 }, Ask: "GET " + toTX + "/" + firstID + "?wait=1s", Status: 503, Want: "too-many-waits", Sends: "Retry-After: 1"},
	{Name: "an unknown id", Ask: "GET " + toTX + "/x", Status: 404, Want: "unknown-transaction"},
	{Name: "one, no database", Given: databaseAway, Ask: "GET " + toTX + "/" + firstID, Status: 503, Want: "database-unavailable"},
	{Name: "one, the database hangs", Given: databaseHangs, Ask: "GET " + toTX + "/" + firstID, Status: 504},
	{Name: "all", Ask: "GET " + toTX + "?account=payer&state=finalized&fate=done&limit=7", Status: 200, Want: `"transactions":[{`},
	{Name: "by all that there is", Ask: "GET " + toTX + "?account=payer&key=k&nonce=3&hash=0xab&to=0x00000000000000000000000000000000000000aa&since=1970-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&cursor=zz", Status: 200, Want: `"next":null`},
	{Name: "a page", Ask: "GET " + toTX + "?limit=1", Status: 200, Want: `"next":"1c"`},
	{Name: "a key of nobody's", Ask: "GET " + toTX + "?key=k", Status: 400, Want: "name the account too"},
	{Name: "a nonce of nobody's", Ask: "GET " + toTX + "?nonce=3", Status: 400, Want: "name the account too"},
	{Name: "an empty key", Ask: "GET " + toTX + "?account=payer&key=", Status: 400, Want: `"field":"key"`},
	{Name: "a key that cannot be", Ask: "GET " + toTX + "?account=payer&key=a%00b", Status: 400, Want: `"field":"key"`},
	{Name: "a nonce below 0", Ask: "GET " + toTX + "?account=payer&nonce=-1", Status: 400, Want: `"field":"nonce"`},
	{Name: "a hash without digits", Ask: "GET " + toTX + "?hash=0x", Status: 400, Want: `"field":"hash"`},
	{Name: "a receiver that is none", Ask: "GET " + toTX + "?to=0x01", Status: 400, Want: `"field":"to"`},
	{Name: "a time without a zone", Ask: "GET " + toTX + "?since=2026-01-01T00:00:00", Status: 400, Want: `"field":"since"`},
	{Name: "an invented cursor", Ask: "GET " + toTX + "?cursor=-", Status: 400, Want: `"field":"cursor"`},
	{Name: "too many", Ask: "GET " + toTX + "?limit=1001", Status: 400, Want: "limit"},
	{Name: "an unknown state", Ask: "GET " + toTX + "?state=lost", Status: 400, Want: "state"},
	{Name: "an empty fate", Ask: "GET " + toTX + "?fate=", Status: 400, Want: "fate"},
	{Name: "all of an account with a wrong checksum", Ask: "GET " + toTX + "?account=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", Status: 422, Want: "with these digits it is 0x5aAeb"},
	{Name: "all of an unknown account", Ask: "GET " + toTX + "?account=nobody", Status: 422, Want: "unknown-account"},
	{Name: "all, no database", Given: databaseAway, Ask: "GET " + toTX, Status: 503},
	{Name: "all, the database hangs", Given: databaseHangs, Ask: "GET " + toTX, Status: 504},

	{Name: "attempts", Ask: "GET " + toTX + "/" + firstID + "/attempts", Status: 200, Want: `"attempts":[{"hash":"0xaa","nonce":3,`},
	{Name: "attempts of one without a nonce", Ask: "GET " + toTX + "/" + secondID + "/attempts", Status: 200, Want: `{"attempts":[]}`},
	{Name: "attempts of an unknown id", Ask: "GET " + toTX + "/x/attempts", Status: 404, Want: "unknown-transaction"},
	{Name: "attempts, no database", Given: databaseAway, Ask: "GET " + toTX + "/" + firstID + "/attempts", Status: 503},
	{Name: "attempts, the database hangs", Given: databaseHangs, Ask: "GET " + toTX + "/" + firstID + "/attempts", Status: 504},
	{Name: "accounts", Ask: "GET " + toAccounts, Status: 200, Want: `{"accounts":[` + payerStands + `]}`},
	{Name: "no accounts", Given: func(w *world) { w.api.transactions.accounts.configured = nil }, Ask: "GET " + toAccounts, Status: 200, Want: `{"accounts":[]}`},
	{Name: "accounts, no database", Given: databaseAway, Ask: "GET " + toAccounts, Status: 503, Want: "database-unavailable"},
	{Name: "accounts, too many ask", Given: func(w *world) { w.api.lists = nil }, Ask: "GET " + toAccounts, Status: 503, Want: "problem:busy", Sends: "Retry-After: 1"},
	{Name: "accounts, the database hangs", Given: databaseHangs, Ask: "GET " + toAccounts, Status: 504},
	{Name: "an account", Ask: "GET " + toAccounts + "/payer", Status: 200, Want: payerStands},
	{Name: "an account by its address", Ask: "GET " + toAccounts + "/" + payerAccount.Address.String(), Status: 200, Want: payerStands},
	{Name: "an account whose chain says nothing", Given: (*world).chainIsAway, Ask: "GET " + toAccounts + "/payer", Status: 200, Want: `"leads":false,"balance":null,"nonce":null,"next_nonce":null,"block":null,"unknown":"https://a\\u202e is away","queued":2`},
	{Name: "an account that others send from", Given: (*world).othersSend, Ask: "GET " + toAccounts + "/payer", Status: 200, Want: `"nonce":9,"next_nonce":9`},
	{Name: "an account that is unknown", Ask: "GET " + toAccounts + "/nobody", Status: 404, Want: "unknown-account"},
	{Name: "an account, no database", Given: databaseAway, Ask: "GET " + toAccounts + "/payer", Status: 503},
	{Name: "an account, the database hangs", Given: databaseHangs, Ask: "GET " + toAccounts + "/payer", Status: 504},

	{Name: "cancelled", Ask: "POST " + toTX + "/" + secondID + "/cancel", Status: 202, Want: `"fate":"queued"`},
	{Name: "too late", Ask: "POST " + toTX + "/" + firstID + "/cancel", Status: 409, Want: "too-late"},
	{Name: "cancelling an unknown id", Ask: "POST " + toTX + "/x/cancel", Status: 404, Want: "unknown-transaction"},
	{Name: "cancelling, no database", Given: databaseAway, Ask: "POST " + toTX + "/" + secondID + "/cancel", Status: 503},
	{Name: "cancelling, the database hangs", Given: databaseHangs, Ask: "POST " + toTX + "/" + secondID + "/cancel", Status: 504},
	{Name: "reading a cancel", Ask: "GET " + toTX + "/" + secondID + "/cancel", Status: 405, Sends: "Allow: POST"},
	{Name: "deleting", Ask: "DELETE " + toTX + "/" + secondID, Status: 405, Sends: "Allow: GET, HEAD"},
}

// To send and to cancel takes a token that operates; to look takes one that reads.
func TestTransactionsNeedTokens(t *testing.T) {
	w := newWorld()
	w.tokens = true
	w.api.transactions.accounts.configured[0].Unlimited = true
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
		{"GET " + toAccounts, "", 401},
		{"GET " + toAccounts, webtest.ReadSecret, 200},
	} {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: c.ask, Body: body(""), Header: "Authorization: Bearer " + c.secret}.Request())
		if out.Code != c.status {
			t.Errorf("%s with token %q: got %d %s, want %d", c.ask, c.secret, out.Code, out.Body, c.status)
		}
	}
	if len(w.store.asked) != 1 {
		t.Errorf("got %+v accepted, want one request", w.store.asked)
	}
	if logs := w.logs.String(); !strings.Contains(logs, "actor=ops") || strings.Contains(logs, webtest.OperateSecret) {
		t.Errorf("got the log %s, want the actor and no token", logs)
	}
}

// Lists and single transactions are each looked up by a limited number of callers at a time. One
// more gets a 503. A place is free again after its caller has left, and to send takes none.
func TestLookingIsBounded(t *testing.T) {
	for _, path := range []string{toTX, toTX + "/" + firstID} {
		t.Run(path, func(t *testing.T) {
			w := newWorld()
			w.api.lists, w.api.looks, w.api.patience = make(chan struct{}, 1), make(chan struct{}, 1), time.Minute
			w.store.hangs, w.store.hung = true, make(chan struct{}, 2)
			api := w.handler(t)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				api.ServeHTTP(httptest.NewRecorder(), exchange{Ask: "GET " + path}.Request().WithContext(ctx))
			}()
			pgtest.Within(t, time.Minute, "the first looks", func() { <-w.store.hung })
			ask := func(x exchange) *httptest.ResponseRecorder {
				out := httptest.NewRecorder()
				brief, cancel := context.WithCancel(t.Context())
				cancel() // so that a call that finds a place does not hang
				api.ServeHTTP(out, x.Request().WithContext(brief))
				return out
			}
			if out := ask(exchange{Ask: "GET " + path}); out.Code != 503 || out.Header().Get("Retry-After") != "1" || !strings.Contains(out.Body.String(), "problem:busy") {
				t.Errorf("a second caller: got %d %s, want 503 and to retry after a second", out.Code, out.Body)
			}
			w.store.hung = nil
			for _, x := range []exchange{{Ask: "POST " + toTX, Body: body("")}, {Ask: "POST " + toTX + "/" + secondID + "/cancel"}} {
				if out := ask(x); strings.Contains(out.Body.String(), "problem:busy") {
					t.Errorf("%s: got %d %s, want an answer other than busy", x.Ask, out.Code, out.Body)
				}
			}
			giveUp()
			pgtest.Within(t, time.Minute, "the first goes", func() { <-ended })
			w.store.hangs = false
			if out := ask(exchange{Ask: "GET " + path}); out.Code != 200 {
				t.Errorf("after the first caller has left: got %d %s, want 200", out.Code, out.Body)
			}
		})
	}
}

// A request and a selection reach the store unchanged.
func TestRequestsAndSelectionsArriveWhole(t *testing.T) {
	w := newWorld()
	api := w.handler(t)
	for _, x := range []exchange{
		{Ask: "POST " + toTX, Body: body(`,"value":"5","data":"0x0102","gas":70000,"idempotency_key":"k"`)},
		{Ask: "GET " + toTX + "?account=payer&state=in_block&fate=open&limit=7"},
	} {
		api.ServeHTTP(httptest.NewRecorder(), x.Request())
	}
	got := w.store.asked[0]
	if fmt.Sprintf("%d %d %v %d %s", got.Call.To[19], got.Call.Value.Int64(), got.Call.Data, got.Call.Gas, got.Key) != "170 5 [1 2] 70000 k" {
		t.Errorf("got the request %+v, want its last byte of to 170, value 5, data 1 2, gas 70000, key k", got)
	}
	if w.store.lists[0] != (pending.Filter{Account: payerAccount.Address, State: "in_block", Standing: "open", Most: 7, Bytes: listed}) {
		t.Errorf("got the selections %+v, want those of the query", w.store.lists)
	}
}

// The document lists the states and fates that the code has.
func TestDocumentedWordsOfTransactions(t *testing.T) {
	s := webtest.Read(t, openAPI)
	var kinds []string
	for _, kind := range pending.Kinds() {
		kinds = append(kinds, string(kind))
	}
	for name, words := range map[string][]string{"TransactionState": pending.Statuses(), "Fate": pending.Standings(), "Outcome": pending.Outcomes(), "TransactionEventKind": kinds} {
		if got := fmt.Sprint(s.At(s.Root(), "components", "schemas", name, "enum")); got != fmt.Sprint(words) {
			t.Errorf("%s: got %s in the document, want %v as in the code", name, got, words)
		}
	}
}
