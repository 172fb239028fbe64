//go:build unix

package transactions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// Rule key-before-policy, by the API over a real database: a request whose limit is used up, or whose policy is gone, gets its ID again,
// another call under the key is told, and what is new is refused. An observer and a node cannot write policies.
func TestAPolicyOverADatabase(t *testing.T) {
	t.Parallel()
	c := granted(t)
	db, err := pgstore.Open(t.Context(), c.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	node, err := pgstore.Open(t.Context(), pgstore.Connection{URL: c.As(t, c.Node)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	w := newWorld()
	w.tokens = true
	w.api.transactions.accounts.db = node
	w.api.transactions.accounts.stores["evm:1"] = node.Store("evm:1", "node-1")
	set := func(text string) {
		t.Helper()
		stored, err := ruled(t, text).stored()
		if err == nil {
			err = db.SetPolicy(t.Context(), stored)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	api := w.handler(t)
	ask := func(value, key string) (string, int) {
		t.Helper()
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: "POST " + toTX, Body: body(`,"value":"` + value + `","idempotency_key":"` + key + `"`), Header: byOps}.Request())
		var got struct {
			ID, Type string
			Limit    limitAnswer
		}
		_ = json.Unmarshal(out.Body.Bytes(), &got)
		return got.ID + strings.TrimPrefix(got.Type, "urn:conch:problem:") + strings.TrimSuffix(" "+got.Limit.Left, " "), out.Code
	}
	const policy = `{"token":"ops","chain":"evm:1","accounts":["any"],"receivers":[{"to":"any"}],"value_a_day":"%d"}`
	want := func(what, value, key, says string, status int) {
		t.Helper()
		if got, code := ask(value, key); got != says || code != status {
			t.Errorf("%s: answered with %d %q, want %d %q", what, code, got, status, says)
		}
	}
	want("without a policy", "5", "one", "no-policy", http.StatusForbidden)
	set(fmt.Sprintf(policy, 7))
	id, code := ask("5", "one")
	if code != http.StatusAccepted {
		t.Fatalf("the first is answered with %d %s", code, id)
	}
	want("the same again", "5", "one", id, http.StatusAccepted)
	want("too much", "3", "two", "policy 2", http.StatusForbidden)
	want("another call", "6", "one", "key-taken", http.StatusConflict)
	if left, code := ask("2", "three"); code != http.StatusAccepted {
		t.Errorf("what is left is refused with %d %s", code, left)
	}
	set(fmt.Sprintf(policy, 1))
	want("a lower limit", "1", "four", "policy 0", http.StatusForbidden)
	want("the first under a lower limit", "5", "one", id, http.StatusAccepted)
	// The API shows what is left to those that see what all tokens do, and to no other.
	spec := webtest.Read(t, openAPI)
	for header, want := range map[string]string{byReader: `"policies":[{"token":"ops","chain":"evm:1","may":[],"as_of":"`, byOps: "does not allow to read what others have sent"} {
		r, out := exchange{Ask: "GET " + pathPolicies, Header: header}.Request(), httptest.NewRecorder()
		api.ServeHTTP(out, r)
		spec.Verify(t, r, out)
		if got := out.Body.String(); !strings.Contains(got, want) || header == byReader && !strings.Contains(got, `"limits":[{"name":"value_a_day","most":"1","spent":"7","left":"0"}]`) {
			t.Errorf("%s is answered with %d %s", header, out.Code, got)
		}
	}
	set(`{"token":"ops","chain":"evm:1","accounts":["any"]}`)
	want("no receivers any more", "1", "four", "policy", http.StatusForbidden)
	want("the first without receivers", "5", "one", id, http.StatusAccepted)
	if err := db.DeletePolicy(t.Context(), "ops", "evm:1"); err != nil {
		t.Fatal(err)
	}
	want("the first without a policy", "5", "one", id, http.StatusAccepted)
	want("the second without a policy", "1", "four", "no-policy", http.StatusForbidden)
	if _, err := w.api.transactions.accept(t.Context(), "f\xfcr\x00", "payer", pending.Intent{Key: "n", Call: chain.Call{To: []byte(at(t, shopAddress)), Value: new(big.Int)}}); err == nil || !strings.Contains(err.Error(), "no policy") {
		t.Errorf("a token whose name is no text: %v, want that it has no policy", err)
	}
	stored, err := ruled(t, small).stored()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.SetPolicy(t.Context(), stored); pg.Code(err) != "42501" {
		t.Errorf("a node writes a policy: %v", err)
	}
	if err := node.DeletePolicy(t.Context(), "a", "b"); err == nil || errors.Is(err, pgstore.ErrNoPolicy) {
		t.Errorf("a node deletes policies: %v", err)
	}
}
