package transactions

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

func (f *fakeStore) AcceptAll(ctx context.Context, all []pending.Intent, takes []pgstore.Reservation) (out []pending.Intent, err error) {
	for i, in := range all {
		if in, err = f.Accept(ctx, in); errors.Is(err, pending.ErrConflict) {
			return nil, &pending.PlaceError{Place: i, Err: err}
		} else if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

func (l *limitedStore) AcceptAll(ctx context.Context, all []pending.Intent, takes []pgstore.Reservation) ([]pending.Intent, error) {
	for i, take := range takes {
		l.takes = append(l.takes, take)
		if err := l.refusal(take); err != nil {
			return nil, &pending.PlaceError{Place: i, Err: err}
		}
	}
	return l.fakeStore.AcceptAll(ctx, all, takes)
}

const toBatch = toTX + ":batch"

// batchOf returns a body with elements, each with what is said more.
func batchOf(more ...string) string {
	var all []string
	for i, one := range more {
		if !strings.Contains(one, "idempotency_key") {
			one += fmt.Sprintf(`,"idempotency_key":"b%d"`, i)
		}
		all = append(all, body(one))
	}
	return `{"transactions":[` + strings.Join(all, ",") + `]}`
}

func many(n int) string { return batchOf(slices.Repeat([]string{""}, n)...) }

var batchAnswers = []exchange{
	{Name: "two", Ask: "POST " + toBatch, Body: batchOf(`,"value":"5"`, ""), Status: 202, Want: `{"transactions":[{"id":"` + firstID + `","idempotency_key":"b0"},{"id":"` + firstID + `","idempotency_key":"b1"}]}`},
	{Name: "five hundred", Ask: "POST " + toBatch, Body: many(500), Status: 202, Want: `"b499"}]`},
	{Name: "one more", Ask: "POST " + toBatch, Body: many(501), Status: 422, Want: `"detail":"transactions: has 501 elements`},
	{Name: "five thousand", Ask: "POST " + toBatch, Body: many(5000), Status: 422, Want: `has 5000 elements, and a batch has 1 to 500`},
	{Name: "none", Ask: "POST " + toBatch, Body: `{"transactions":[]}`, Status: 422, Want: `has 0 elements`},
	{Name: "nothing at all", Ask: "POST " + toBatch, Status: 422, Want: `has 0 elements`},
	{Name: "an array alone", Ask: "POST " + toBatch, Body: `[` + body("") + `]`, Status: 400, Want: "bad-body"},
	{Name: "one that is null", Ask: "POST " + toBatch, Body: `{"transactions":[null]}`, Status: 422, Want: `"field":"transactions[0].account"`},
	{Name: "one that is a text", Ask: "POST " + toBatch, Body: `{"transactions":["x"]}`, Status: 400, Want: `"detail":"transactions[0]: the body is not what is documented`},
	{Name: "a misspelt field in the second", Ask: "POST " + toBatch, Body: batchOf("", `,"amount":"5"`), Status: 400, Want: `"field":"transactions[1]"`},
	{Name: "too large", Ask: "POST " + toBatch, Body: batchOf(`,"data":"0x` + strings.Repeat("ab", 2<<20) + `"`), Status: 413, Want: "is not read"},
	{Name: "plain text", Ask: "POST " + toBatch, Body: "x", Header: "Content-Type: text/plain", Status: 415},
	{Name: "a wrong address in the third", Ask: "POST " + toBatch, Body: batchOf("", "", `,"to":"0x01"`), Status: 422, Want: `"detail":"transactions[2]: to: is not an address: it has 2 digits after 0x: write 0x and 40 hexadecimal digits","field":"transactions[2].to"}`},
	{Name: "too little gas in the second", Ask: "POST " + toBatch, Body: batchOf("", `,"gas":20999`), Status: 422, Want: `"field":"transactions[1].gas"`},
	{Name: "a wrong argument in the second", Ask: "POST " + toBatch, Body: batchOf("", `,"function":"f(uint8 n)","args":["300"]`), Status: 422, Want: `"field":"transactions[1].args[0] (n)"`},
	{Name: "no key", Ask: "POST " + toBatch, Body: `{"transactions":[` + body("") + `]}`, Status: 422, Want: `"field":"transactions[0].idempotency_key"`},
	{Name: "the same key twice", Ask: "POST " + toBatch, Body: batchOf(`,"idempotency_key":"x"`, "", `,"idempotency_key":"x"`), Status: 422, Want: `is that of transactions[0] too","field":"transactions[2].idempotency_key"`},
	{Name: "a key in the header of the whole", Ask: "POST " + toBatch, Body: many(1), Header: "Idempotency-Key: k", Status: 400, Want: "unheeded-header"},
	{Name: "two accounts", Ask: "POST " + toBatch, Body: batchOf("", `,"account":"other"`), Status: 422, Want: `"field":"transactions[1].account"`},
	{Name: "an account of no chain here", Ask: "POST " + toBatch, Body: batchOf(`,"account":"other"`, `,"account":"other"`), Status: 422, Want: `"field":"transactions[0].account"`},
	{Name: "a key of another transaction in the second", Ask: "POST " + toBatch, Body: batchOf("", `,"value":"6","idempotency_key":"k"`), Status: 409, Want: `key-taken","title":"Key taken","status":409,"detail":"transactions[1]: another transaction has this idempotency key already: use a new key, or repeat the first request unchanged","field":"transactions[1].idempotency_key"`},
	{Name: "refused by the policy", Given: limited(small, nil), Ask: "POST " + toBatch, Body: batchOf(`,"value":"4"`, `,"value":"5"`), Header: byOps, Status: 403, Want: `"field":"transactions[1]","limit":{"name":"value","most":"4"}`},
	{Name: "no policy for a batch", Given: limited("", nil), Ask: "POST " + toBatch, Body: many(2), Header: byOps, Status: 403, Want: `no-policy`},
	{Name: "a standalone node and a batch", Given: func(w *world) {
		w.tokens = true
		w.api.transactions.accounts.stores[payerAccount.Chain.ID()] = plainStore{w.store}
	}, Ask: "POST " + toBatch, Body: many(2), Header: byOps, Status: 403, Want: `no-policy`},
	{Name: "a limit of a day in a batch", Given: limited(small, errOfADay), Ask: "POST " + toBatch, Body: many(2), Header: byOps, Status: 403, Want: `"field":"transactions[0]","limit":{"name":"value_a_day"`},
	{Name: "a limit of a minute in a batch", Given: limited(small, errOfAMinute), Ask: "POST " + toBatch, Body: many(2), Header: byOps, Status: 429, Want: `"name":"count_a_minute"`, Sends: "Retry-After"},
	{Name: "a batch that can never pass a limit", Given: limited(small, errNeverAll), Ask: "POST " + toBatch, Body: many(2), Header: byOps, Status: 403, Want: `has a limit, value_a_day of 9, and all of the batch needs 10: send it in parts","field":"transactions[0]","limit":{"name":"value_a_day"`},
	{Name: "too many batches", Given: func(w *world) { w.api.batches = make(chan struct{}) }, Ask: "POST " + toBatch, Body: many(2), Status: 503, Want: "problem:busy", Sends: "Retry-After: 1"},
	{Name: "a busy store", Given: busy, Ask: "POST " + toBatch, Body: many(2), Status: 503, Want: "problem:busy"},
	{Name: "no database for a batch", Given: databaseAway, Ask: "POST " + toBatch, Body: many(2), Status: 503, Want: "database-unavailable"},
	{Name: "the database hangs in a batch", Given: databaseHangs, Ask: "POST " + toBatch, Body: many(2), Status: 504},
}

// plainStore hides what fakeStore can do with several intents.
type plainStore struct{ store }

func in(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

// wishAnswers are those to requests that say how a call is made and sent.
var wishAnswers = []exchange{
	{Name: "all wishes", Ask: "POST " + toTX, Body: body(`,"speed":"fast","max_fee":"30000000000","valid_until":"` + in(time.Hour) + `","last_block":9,"function":"transfer(address,uint256)","args":["0x00000000000000000000000000000000000000bb","5"]`), Status: 202, Want: firstID},
	{Name: "a payable function", Ask: "POST " + toTX, Body: body(`,"value":"7","function":"deposit()"`), Status: 202},
	{Name: "no such speed", Ask: "POST " + toTX, Body: body(`,"speed":"urgent"`), Status: 422, Want: `"detail":"speed: is \"urgent\", and has to be`},
	{Name: "a max_fee of 0", Ask: "POST " + toTX, Body: body(`,"max_fee":"0"`), Status: 422, Want: `"field":"max_fee"`},
	{Name: "a max_fee with a unit", Ask: "POST " + toTX, Body: body(`,"max_fee":"30 gwei"`), Status: 422, Want: `"field":"max_fee"`},
	{Name: "a max_fee of 257 bits", Ask: "POST " + toTX, Body: body(`,"max_fee":"` + new(big.Int).Lsh(big.NewInt(1), 256).String() + `"`), Status: 422, Want: `"field":"max_fee"`},
	{Name: "a deadline in the past", Ask: "POST " + toTX, Body: body(`,"valid_until":"2026-01-01T00:00:00Z"`), Status: 422, Want: `valid_until: is over: by this node's clock it is 2`},
	{Name: "a deadline in the past, of a known key", Ask: "POST " + toTX, Body: body(`,"value":"5","idempotency_key":"k","valid_until":"2026-01-01T00:00:00Z"`), Status: 202, Want: firstID},
	{Name: "a deadline in seconds", Ask: "POST " + toTX, Body: body(`,"valid_until":"1798606800"`), Status: 422, Want: `RFC 3339`},
	{Name: "a deadline without a zone", Ask: "POST " + toTX, Body: body(`,"valid_until":"2027-01-01T00:00:00"`), Status: 422, Want: `with a zone`},
	{Name: "a deadline as a number", Ask: "POST " + toTX, Body: body(`,"valid_until":1798606800`), Status: 400, Want: `valid_until is`},
	{Name: "a deadline in two years", Ask: "POST " + toTX, Body: body(`,"valid_until":"` + in(2*farthest) + `"`), Status: 422, Want: `more than 366 days ahead`},
	{Name: "a huge last block", Ask: "POST " + toTX, Body: body(`,"last_block":18446744073709551615`), Status: 422, Want: `"field":"last_block"`},
	{Name: "a function and data", Ask: "POST " + toTX, Body: body(`,"data":"0x01","function":"f()"`), Status: 422, Want: `"field":"data"`},
	{Name: "args without a function", Ask: "POST " + toTX, Body: body(`,"args":["1"]`), Status: 422, Want: `"field":"function"`},
	{Name: "a function of nobody", Ask: "POST " + toTX, Body: `{"account":"payer","function":"f()"}`, Status: 422, Want: `"field":"to"`},
	{Name: "no function", Ask: "POST " + toTX, Body: body(`,"function":"transfer"`), Status: 422, Want: `"detail":"function: is no function`},
	{Name: "too few arguments", Ask: "POST " + toTX, Body: body(`,"function":"f(uint8)"`), Status: 422, Want: `"detail":"args: has 0 elements, and f(uint8) takes 1","field":"args"`},
	{Name: "an argument with a wrong checksum", Ask: "POST " + toTX, Body: body(`,"function":"transfer(address to,uint256 amount)","args":["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD","1"]`), Status: 422, Want: `"detail":"args[0] (to): has a wrong checksum (EIP-55)`},
	{Name: "args that are no array", Ask: "POST " + toTX, Body: body(`,"function":"f(uint8)","args":"1"`), Status: 400, Want: `args is a text, and has to be an array`},
	{Name: "coins by a function, within the policy", Given: limited(coinsOfBB, nil), Ask: "POST " + toTX, Body: body(`,"function":"transfer(address,uint256)","args":["0x00000000000000000000000000000000000000bb","5"]`), Header: byOps, Status: 202},
	{Name: "coins by a function, for another one", Given: limited(coinsOfBB, nil), Ask: "POST " + toTX, Body: body(`,"function":"transfer(address,uint256)","args":["0x00000000000000000000000000000000000000cc","5"]`), Header: byOps, Status: 403, Want: `"name":"erc20"`},
	{Name: "one with wishes", Given: func(w *world) {
		r := w.store.kept[testID(secondID)]
		r.Terms, r.LastBlock, r.ValidUntil = pending.Terms{Speed: chain.Slow, MaxFee: big.NewInt(30)}, 77, time.Unix(9, 0)
		w.store.kept[testID(secondID)] = r
	}, Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"speed":"slow","max_fee":"30","valid_until":"1970-01-01T00:00:09Z","last_block":77`},
	{Name: "one that is called back", Given: func(w *world) {
		r := w.store.kept[testID(secondID)]
		r.Late, r.Index, r.Hold = true, new(uint64(4)), pending.Hold{}
		w.store.kept[testID(secondID)] = r
	}, Ask: "GET " + toTX + "/" + secondID, Status: 200, Want: `"reason":"its deadline is over: a transaction that does nothing takes its nonce, unless its own is faster"`},
}

// coinsOfBB is a policy for coins that only 0x…bb may get.
const coinsOfBB = `{"token":"ops","chain":"evm:1","accounts":["any"],"erc20":[{"contract":"0x00000000000000000000000000000000000000aa","to":["0x00000000000000000000000000000000000000bb"]}]}`

// What a request wishes arrives whole at the store, and the bytes that a function makes are those of a call.
func TestWishesArriveWhole(t *testing.T) {
	w := newWorld()
	until := in(time.Hour)
	ask := exchange{Ask: "POST " + toTX, Body: body(`,"speed":"slow","max_fee":"30","valid_until":"` + until + `","last_block":77,"function":"transfer(address,uint256)","args":["0x00000000000000000000000000000000000000bb","5"]`)}
	w.handler(t).ServeHTTP(httptest.NewRecorder(), ask.Request())
	got := w.store.asked[0]
	if got.Speed != chain.Slow || got.MaxFee.Int64() != 30 || got.LastBlock != 77 || got.ValidUntil.Format(time.RFC3339) != until ||
		fmt.Sprintf("%x", got.Call.Data) != "a9059cbb"+strings.Repeat("0", 24)+"00000000000000000000000000000000000000bb"+strings.Repeat("0", 63)+"5" {
		t.Errorf("the store got %+v", got)
	}
}
