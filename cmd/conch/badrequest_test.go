//go:build unix

package main_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// blake2f is the address of a precompiled contract.
const blake2f = "0x0000000000000000000000000000000000000009"

// Bad requests are refused by the API if it can tell.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--gas-limit", "10000000")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	api := n.api()
	for _, c := range []struct {
		body, says string
		code       int
	}{
		{`{"account":"nobody","to":"` + nobodysAddress + `","idempotency_key":"a"}`, "account", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"0xzz","idempotency_key":"b"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"0x0102","idempotency_key":"c"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","data":"0x123","idempotency_key":"d"}`, "data", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"-1","idempotency_key":"e"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"1.5","idempotency_key":"f"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"1` + strings.Repeat("0", 80) + `","idempotency_key":"g"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","idempotency_key":"h"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","gas":20999,"idempotency_key":"i"}`, "below 21000", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","gas":21000,"data":"0x00","idempotency_key":"j"}`, "below 21004", http.StatusUnprocessableEntity},
		{`{"account":"payer","gas":53015,"data":"0xfe","idempotency_key":"k"}`, "below 53016", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":`, "", http.StatusBadRequest},
	} {
		code, body := post(t, api+"/v1/transactions", c.body)
		if text := fmt.Sprint(body); code != c.code || !strings.Contains(text, c.says) || body["type"] == nil {
			t.Errorf("%s: status %d, body %s; want a problem with the table's status and text", c.body, code, text)
		}
	}
}

// S26, W12: an intent whose call no block can carry out is rejected in the node's own words, each after some time, and
// those behind it go on.
func TestCallsThatTheChainRefuses(t *testing.T) {
	runtest.LongRun(t) // each is asked for again for fifteen seconds
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--gas-limit", "10000000")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	api := n.api()
	asked, rejected := map[string]string{}, []string{}
	for i, c := range []struct {
		to, data string
		gas      int
	}{
		{nobodysAddress, "0x", 10_000_001}, // more than a block has
		{nobodysAddress, "0x00", 21_004},   // below the floor of EIP-7623, which the node says
		{"", "0xfe", 0},                    // a contract whose creation fails
		{"", "0x60ef60005360016000f3", 0},  // a contract with forbidden code
		{blake2f, "0x00", 0},               // data that the precompiled contract refuses
	} {
		body := fmt.Sprintf(`{"account":"payer","to":%q,"data":%q,"gas":%d,"value":"%d","idempotency_key":"bad %d"}`, c.to, c.data, c.gas, 11+i, i)
		code, answer := post(t, api+"/v1/transactions", body)
		if code != http.StatusAccepted {
			t.Fatalf("status %d, body %v; want 202", code, answer)
		}
		id, to := fmt.Sprint(answer["id"]), cmp.Or(c.to, "0x")
		asked[id] = deed(to, fmt.Sprint(11+i), c.data)
		rejected = append(rejected, id)
	}
	maps.Copy(asked, requested(t, n, 0, 2))
	judgeRevoked(t, chain, db.URL, asked, rejected)
	for i, id := range rejected {
		is := shown(t, api, id)
		why, _ := is["why"].(string)
		if is["fate"] != "rejected" || why == "" || i == 1 && !strings.Contains(why, "gas") { // in the node's own words
			t.Errorf("bad request %d shows as %v, want it rejected with a reason", i, is)
		}
	}
}
