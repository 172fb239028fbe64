package transactions

import (
	"errors"
	"fmt"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// quoted is what an endpoint says of a call of 30,000 gas.
func quoted(fault error) chain.Quote {
	fee := func(most, tip int64) chain.Fee { return chain.Fee{Max: big.NewInt(most), Tip: big.NewInt(tip)} }
	q := chain.Quote{Block: chain.Block{Number: 12, Hash: "\xee"}, Balance: big.NewInt(1_000_000), Gas: 30_000, Suggested: fee(20, 1), Least: fee(10, 1), By: "https://a", Fault: fault}
	if fault != nil {
		q.Gas = 0
	}
	return q
}

func saysOfCalls(q chain.Quote, err error) func(*world) {
	return func(w *world) { w.quotes = func(Account, chain.Call) (chain.Quote, error) { return q, err } }
}

func both(all ...func(*world)) func(*world) {
	return func(w *world) {
		for _, one := range all {
			one(w)
		}
	}
}

const dry = "POST " + toTX + "?dry_run=true"

var (
	reverts = func() chain.Quote {
		q := quoted(fmt.Errorf("%w: execution reverted: no", chain.ErrCall))
		q.Reason = "no \x1b[2J money"
		return q
	}()
	oneDay = strings.Replace(small, `"value":"4"`, `"value":"9","value_a_day":"9"`, 1)
)

// isFirst gives the first transaction the call of body.
func isFirst(w *world) {
	r := w.store.kept[testID(firstID)]
	r.Call.To = []byte(strings.Repeat("\x00", 19) + "\xaa")
	w.store.kept[r.ID] = r
}

// dryAnswers are those of dry runs. The fake database has spent 7 of the 9 that a day has.
var dryAnswers = []exchange{
	{Name: "a dry run", Ask: dry, Body: body(`,"value":"5"`), Status: 200, Want: `"account":"payer","chain":"evm:1","address":"` + payerAccount.Address.String() + `","accepted":true,"refusal":null,"id":null,"limits":[],"works":true,"gas":30000,"max_fee":"20","max_tip":"1","cost":"600005","balance":"1000000","block":{"number":12,"hash":"0xee"},"by":"https://a"}`},
	{Name: "a dry run that is none", Ask: "POST " + toTX + "?dry_run=false", Body: body(""), Status: 202, Want: firstID},
	{Name: "a dry run of another word", Ask: "POST " + toTX + "?dry_run=yes", Body: body(""), Status: 400, Want: `"field":"dry_run"`},
	{Name: "a dry run of two minds", Ask: "POST " + toTX + "?dry_run=true&dry_run=false", Body: body(""), Status: 400, Want: `"field":"dry_run"`},
	{Name: "a dry run with a fault", Ask: dry, Body: body(`,"value":"-1"`), Status: 422, Want: `"field":"value"`},
	{Name: "a dry run of too little gas", Ask: dry, Body: body(`,"data":"0x01","gas":21015`), Status: 422, Want: `"field":"gas"`},
	{Name: "a dry run of nobody", Ask: dry, Body: `{"account":"x",` + to20 + `}`, Status: 422, Want: "unknown-account"},
	{Name: "a dry run of a known key", Given: isFirst, Ask: dry, Body: body(`,"value":"5","idempotency_key":"k"`), Status: 200, Want: `"accepted":true,"refusal":null,"id":"` + firstID + `"`},
	{Name: "a dry run of another call's key", Ask: dry, Body: body(`,"value":"6"`), Header: "Idempotency-Key: k", Status: 200, Want: `"accepted":false,"refusal":{"type":"urn:conch:problem:key-taken"`},
	{Name: "a dry run without a database", Given: databaseAway, Ask: dry, Body: body(`,"idempotency_key":"n"`), Status: 503, Want: "database-unavailable"},
	{Name: "a dry run of what reverts", Given: saysOfCalls(reverts, nil), Ask: dry, Body: body(""), Status: 200, Want: `"accepted":true,"refusal":null,"id":null,"limits":[],"works":false,"reason":"no \\u001b[2J money","gas":null,"max_fee":"20","max_tip":"1","cost":null`},
	{Name: "a dry run that no endpoint answers", Given: saysOfCalls(chain.Quote{}, errors.New("a\u202e is away")), Ask: dry, Body: body(""), Status: 200, Want: `"works":null,"gas":null,"max_fee":null,"max_tip":null,"cost":null,"balance":null,"unknown":"a\\u202e is away","block":null}`},
	{Name: "a dry run of which an endpoint is not sure", Given: saysOfCalls(quoted(fmt.Errorf("%w: hm", chain.ErrUnclear)), nil), Ask: dry, Body: body(""), Status: 200, Want: `"works":null,"gas":null`},
	{Name: "a dry run of too much value", Given: saysOfCalls(quoted(fmt.Errorf("%w: too much", chain.ErrFunds)), nil), Ask: dry, Body: body(""), Status: 200, Want: `"works":null`},
	{Name: "a dry run of what the account cannot pay", Ask: dry, Body: body(`,"value":"400001"`), Status: 200, Want: `"cost":"1000001","balance":"1000000","waits":"it may cost 1000001 wei, and the account has 1000000"`},
	{Name: "a dry run of dear gas", Given: func(w *world) { w.api.transactions.accounts.configured[0].MaxFee = big.NewInt(9) }, Ask: dry, Body: body(""), Status: 200, Want: `"waits":"` + chain.ErrFee.Error()},
	{Name: "a dry run of gas that the account does not want to pay in full", Given: func(w *world) { w.api.transactions.accounts.configured[0].MaxFee = big.NewInt(15) }, Ask: dry, Body: body(""), Status: 200, Want: `"max_fee":"15"`},

	{Name: "a dry run within the policy", Given: limited(oneDay, errOfADay), Ask: dry, Body: body(`,"value":"2"`), Header: byOps, Status: 200, Want: `"accepted":true,"refusal":null,"id":null,"limits":[{"name":"value_a_day","most":"9","spent":"7","left":"2","until":"2026-02-01T00:00:00Z","needs":"2"},{"name":"count_a_minute","most":"9","spent":"0","left":"9","until":"2026-02-01T00:00:00Z","needs":"1"}]`},
	{Name: "a dry run beyond a limit", Given: limited(oneDay, nil), Ask: dry, Body: body(`,"value":"3"`), Header: byOps, Status: 200, Want: `"accepted":false,"refusal":{"type":"urn:conch:problem:policy","title":"Refused by the policy","status":403,"detail":"account \"payer\": the policy of the token \"ops\" has a limit, value_a_day of 9, of which 2 is left until 2026-02-01T00:00:00Z","limit":{"name":"value_a_day","most":"9","spent":"7","left":"2","until":"2026-02-01T00:00:00Z"}},"id":null,"limits":[{`},
	{Name: "a dry run beyond the count", Given: both(limited(oneDay, nil), func(w *world) { w.count = 9 }), Ask: dry, Body: body(`,"value":"2"`), Header: byOps, Status: 200, Want: `"status":429,`},
	{Name: "a dry run that the policy refuses", Given: limited(small, nil), Ask: dry, Body: body(`,"value":"5"`), Header: byOps, Status: 200, Want: `"accepted":false,"refusal":{"type":"urn:conch:problem:policy","title":"Refused by the policy","status":403,"detail":"account \"payer\": the policy of the token \"ops\" allows a value of 4 in one transaction","limit":{"name":"value","most":"4"}}`},
	{Name: "a dry run without a policy", Given: limited("", nil), Ask: dry, Body: body(""), Header: byOps, Status: 200, Want: `"accepted":false,"refusal":{"type":"urn:conch:problem:no-policy"`},
	{Name: "a dry run of another's key", Given: limited(small, nil), Ask: dry, Body: body(`,"value":"5","idempotency_key":"k"`), Header: byOps, Status: 200, Want: `"accepted":false,"refusal":{"type":"urn:conch:problem:key-taken"`},
	{Name: "a dry run by a reader", Given: limited(small, nil), Ask: dry, Body: body(""), Header: byReader, Status: 403, Want: "may read, not operate"},
}

// A dry run stores nothing, takes nothing, and wakes nobody.
func TestADryRunLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.tokens = true
	l := w.limits(oneDay, func(pgstore.Reservation) error { return nil })
	api := w.handler(t)
	for _, key := range []string{"", "n", "k"} {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: dry, Body: body(`,"value":"1","idempotency_key":"` + key + `"`), Header: byOps}.Request())
		if out.Code != 200 {
			t.Errorf("key %q: got %d %s, want 200", key, out.Code, out.Body)
		}
	}
	if len(l.takes)+len(l.asked) > 0 {
		t.Errorf("dry runs have stored %v, and taken %v", l.asked, l.takes)
	}
}

// Only so many calls are tried out at a time, so that a crowd which tries does not keep endpoints busy. The others are told after two
// seconds that it is not known.
func TestADryRunWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	q := newQuotes(nil)
	for range mostDryRuns {
		q.places <- struct{}{}
	}
	if got := q.of(t.Context(), payerAccount, pending.Intent{}); got.Works != nil || got.Unknown != errFinds.Error() {
		t.Errorf("got %+v, want that too many ask", got)
	}
}

// Of several limits that are too small the one is told that holds the call up longest, as the database does when it refuses; one that is
// never large enough before all.
func TestWhichLimitIsTold(t *testing.T) {
	t.Parallel()
	take := func(what string, n int64) pgstore.Take { return pgstore.Take{What: what, Amount: big.NewInt(n)} }
	p := pgstore.Policy{
		Limits: []pgstore.Take{take(pgstore.OfCount, 1), take(pgstore.OfValue, 9), take(pgstore.OfFee, 5)},
		Spent:  []pgstore.Take{take(pgstore.OfCount, 1), take(pgstore.OfValue, 10), take(pgstore.OfFee, 0)}, At: midnight.Add(-time.Hour),
	}
	for _, c := range []struct {
		takes []pgstore.Take
		want  string
	}{
		{nil, ""},
		{[]pgstore.Take{take(pgstore.OfFee, 5)}, ""},
		{[]pgstore.Take{take(pgstore.OfCount, 1)}, pgstore.OfCount},
		{[]pgstore.Take{take(pgstore.OfCount, 1), take(pgstore.OfValue, 1)}, pgstore.OfValue},
		{[]pgstore.Take{take(pgstore.OfCount, 1), take(pgstore.OfValue, 1), take(pgstore.OfFee, 6)}, pgstore.OfFee},
		{[]pgstore.Take{take(pgstore.OfFee, 3), take(pgstore.OfFee, 3)}, pgstore.OfFee},
	} {
		limits, over := left(p, c.takes)
		got := ""
		if over != nil {
			got = over.What
		}
		if got != c.want || len(limits) != len(p.Limits) || limits[1].Left != "0" {
			t.Errorf("%v: got %q of %+v, want %q", c.takes, got, limits, c.want)
		}
	}
	if _, err := (&transactions{}).underKey(t.Context(), "", "", nil, pending.Intent{}); err != nil {
		t.Error(err)
	}
}
