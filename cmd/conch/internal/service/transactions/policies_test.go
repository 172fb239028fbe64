package transactions

import (
	"context"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// limitedStore is a fakeStore whose database refuses what a policy takes with an error.
type limitedStore struct {
	*fakeStore

	refusal func(pgstore.Reservation) error
	takes   []pgstore.Reservation
}

func (l *limitedStore) AcceptWithin(ctx context.Context, in pending.Intent, take pgstore.Reservation) (pending.Intent, error) {
	l.takes = append(l.takes, take)
	if err := l.refusal(take); err != nil {
		return in, err
	}
	return l.Accept(ctx, in)
}

// limited gives a world tokens, and the operating one a policy, text; none if it is empty.
func limited(text string, refusal error) func(*world) {
	return func(w *world) {
		w.tokens = true
		w.limits(text, func(take pgstore.Reservation) error {
			if take.Version == 0 && take.Token != "" { // a key that is not known
				return pgstore.ErrPolicyChanged
			}
			return refusal
		})
	}
}

func (w *world) limits(text string, refusal func(pgstore.Reservation) error) *limitedStore {
	l := &limitedStore{fakeStore: w.store, refusal: refusal}
	w.api.transactions.accounts.stores[payerAccount.Chain.ID()] = l
	w.api.transactions.policies = newPolicies(func(_ context.Context, token, chain string) (pgstore.Policy, error) {
		if w.reads++; text == "" || token != "ops" || chain != "evm:1" {
			return pgstore.Policy{}, pgstore.ErrNoPolicy
		}
		return pgstore.Policy{Token: token, Chain: chain, Rules: []byte(text), Version: int64(w.reads)}, nil
	}, func(context.Context, string, string) (pgstore.Policy, error) {
		return pgstore.Policy{
			Limits: []pgstore.Take{{What: pgstore.OfValue, Amount: big.NewInt(9)}, {What: pgstore.OfCount, Amount: big.NewInt(9)}},
			Spent:  []pgstore.Take{{What: pgstore.OfValue, Amount: big.NewInt(7)}, {What: pgstore.OfCount, Amount: w.counted()}}, At: midnight.Add(-time.Minute + time.Second/2),
		}, nil
	})
	return l
}

func (w *world) counted() *big.Int { return big.NewInt(w.count) }

// small is the operating token's policy for small payments.
const small = `{"token":"ops","chain":"evm:1","accounts":["any"],"receivers":[{"to":"any"}],"value":"4","count_a_minute":"9"}`

var (
	midnight     = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	errOfAMinute = &pgstore.LimitError{What: pgstore.OfCount, Most: big.NewInt(9), Spent: big.NewInt(9), At: midnight.Add(-time.Minute + time.Second/2), Again: midnight}
	errOfADay    = &pgstore.LimitError{What: pgstore.OfValue, Most: big.NewInt(9), Spent: big.NewInt(7), At: midnight.Add(-time.Hour), Again: midnight}
	errNever     = &pgstore.LimitError{What: dollar, Most: big.NewInt(9), Spent: big.NewInt(12)}
	errNeverAll  = &pgstore.LimitError{What: pgstore.OfValue, Most: big.NewInt(9), Spent: new(big.Int), Batch: big.NewInt(10)}
)

const byOps = "Authorization: Bearer " + webtest.OperateSecret

// policyAnswers are those of a node with tokens.
var policyAnswers = []exchange{
	{Name: "within the policy", Given: limited(small, nil), Ask: "POST " + toTX, Body: body(`,"value":"4"`), Header: byOps, Status: 202},
	{Name: "no policy", Given: limited("", nil), Ask: "POST " + toTX, Body: body(""), Header: byOps, Status: 403, Want: `{"type":"urn:conch:problem:no-policy","title":"No policy","status":403,"detail":"account \"payer\": the token \"ops\" has no policy for its chain, and may not spend without one: an operator writes one with \"conch policy set\", or unlimited = true for the account in [[accounts]]"}`},
	{Name: "no policy, and a key", Given: limited("", nil), Ask: "POST " + toTX, Body: body(`,"idempotency_key":"n"`), Header: byOps, Status: 403, Want: `no-policy`},
	{Name: "a standalone node", Given: func(w *world) { w.tokens = true }, Ask: "POST " + toTX, Body: body(""), Header: byOps, Status: 403, Want: "no-policy"},
	{Name: "refused by the policy", Given: limited(small, nil), Ask: "POST " + toTX, Body: body(`,"value":"5"`), Header: byOps, Status: 403, Want: `"detail":"account \"payer\": the policy of the token \"ops\" allows a value of 4 in one transaction","limit":{"name":"value","most":"4"}}`},
	{Name: "refused by the policy, with a key", Given: limited(small, nil), Ask: "POST " + toTX, Body: body(`,"value":"5","idempotency_key":"n"`), Header: byOps, Status: 403, Want: `urn:conch:problem:policy`},
	{Name: "a limit of a day", Given: limited(small, errOfADay), Ask: "POST " + toTX, Body: body(`,"value":"4"`), Header: byOps, Status: 403, Want: `has a limit, value_a_day of 9, of which 2 is left until 2026-02-01T00:00:00Z","limit":{"name":"value_a_day","most":"9","spent":"7","left":"2","until":"2026-02-01T00:00:00Z"}`},
	{Name: "a limit that it can never pass", Given: limited(small, errNever), Ask: "POST " + toTX, Body: body(""), Header: byOps, Status: 403, Want: `this needs more than the whole of it","limit":{"name":"erc20 ` + dollar + `","most":"9","spent":"12","left":"0"}`},
	{Name: "a limit of a minute", Given: limited(small, errOfAMinute), Ask: "POST " + toTX, Body: body(""), Header: byOps, Status: 429, Want: `"name":"count_a_minute"`, Sends: "Retry-After: 60"},
	{Name: "a policy of a newer conch", Given: limited(`{"newer":true}`, nil), Ask: "POST " + toTX, Body: body(""), Header: byOps, Status: 500, Want: "cannot be applied"},
	{Name: "cancelling without a policy", Given: limited("", nil), Ask: "POST " + toTX + "/" + secondID + "/cancel", Header: byOps, Status: 403, Want: "no-policy"},
	{Name: "cancelling against the policy", Given: limited(small, nil), Ask: "POST " + toTX + "/" + secondID + "/cancel", Header: byOps, Status: 403, Want: `does not allow to cancel its transactions","limit":{"name":"cancel"}`},
	{Name: "cancelling within the policy", Given: limited(strings.Replace(small, `"value"`, `"cancel":true,"value"`, 1), nil), Ask: "POST " + toTX + "/" + secondID + "/cancel", Header: byOps, Status: 202},
	{Name: "cancelling what the policy does not have", Given: limited(strings.Replace(small, `["any"]`, `["`+shopAddress+`"],"cancel":true`, 1), nil), Ask: "POST " + toTX + "/" + secondID + "/cancel", Header: byOps, Status: 403, Want: "cancel"},
	{Name: "cancelling nothing with a policy", Given: limited(small, nil), Ask: "POST " + toTX + "/x/cancel", Header: byOps, Status: 404, Want: "unknown-transaction"},
}

// Callers of a token without a policy send from accounts that are unlimited, and nobody needs one where no tokens are.
func TestWhoNeedsNoPolicy(t *testing.T) {
	for _, c := range []struct {
		name      string
		given     func(*world)
		unlimited bool
		header    string
		status    int
	}{
		{"no tokens", func(w *world) { limited("", nil)(w); w.tokens = false }, false, "", 202},
		{"an unlimited account", limited("", nil), true, byOps, 202},
		{"an unlimited account of a standalone node", func(w *world) { w.tokens = true }, true, byOps, 202},
		{"a policy counts for an unlimited account too", limited(small, errOfADay), true, byOps, 403},
	} {
		w := newWorld()
		c.given(w)
		w.api.transactions.accounts.configured[0].Unlimited = c.unlimited
		out := httptest.NewRecorder()
		w.handler(t).ServeHTTP(out, exchange{Ask: "POST " + toTX, Body: body(""), Header: c.header}.Request())
		if out.Code != c.status {
			t.Errorf("%s: got %d %s, want %d", c.name, out.Code, out.Body, c.status)
		}
	}
}

// A policy is read once, and again when the database says that it has changed, and before anybody is refused; that there is none is
// believed for a second.
func TestPoliciesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		newest := int64(1)
		l := w.limits(small, func(take pgstore.Reservation) error {
			if take.Token != "" && take.Version < newest {
				return pgstore.ErrPolicyChanged
			}
			return nil
		})
		accept := func(token string, value int64, wantReads int, wantErr bool) {
			t.Helper()
			w.reads = int(newest) - 1
			before := w.reads
			_, err := w.api.transactions.accept(t.Context(), token, "payer", pending.Intent{Call: chain.Call{To: []byte(at(t, shopAddress)), Value: big.NewInt(value)}})
			if got := w.reads - before; got != wantReads || (err != nil) != wantErr {
				t.Errorf("read %d times, error %v; want %d times", got, err, wantReads)
			}
		}
		accept("ops", 4, 1, false)
		accept("ops", 4, 0, false)
		newest = 2
		accept("ops", 4, 1, false) // the database refuses the version that was known
		accept("ops", 5, 1, true)
		w.api.transactions.accounts.configured[0].Unlimited = true
		accept("other", 5, 1, false)
		accept("other", 5, 0, false)
		time.Sleep(noneFor) // virtual
		accept("other", 5, 1, false)
		if n := len(l.takes); n != 7 || l.takes[0].Takes[0].What != pgstore.OfCount || l.takes[6].Token != "" {
			t.Errorf("%d times something was reserved: %+v; want seven times", n, l.takes)
		}
	})
}
