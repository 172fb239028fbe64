//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// What nobody should wish for: refused at the door where that can be known, rejected by
// the chain's word where it can not; and what comes after is done.
func TestBadWishes(t *testing.T) {
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
		{`{"account":"payer","to":`, "", http.StatusBadRequest},
	} {
		code, body := post(t, api+"/v1/transactions", c.body)
		if text := fmt.Sprint(body); code != c.code || !strings.Contains(text, c.says) || body["type"] == nil {
			t.Errorf("%s: %d %s", c.body, code, text)
		}
	}
	asked, rejected := map[string]string{}, []string{}
	for i, c := range []struct{ more, does string }{
		{`"gas":10000001`, deed(nobodysAddress, "11", "0x")},              // more than a block has
		{`"gas":21000,"data":"0x00"`, deed(nobodysAddress, "12", "0x00")}, // less than it takes
		{`"data":"0xfe","to":""`, ""},                                     // a contract whose making fails
	} {
		to := `"to":"` + nobodysAddress + `",`
		if strings.Contains(c.more, `"to"`) {
			to = ""
			c.more = strings.Replace(c.more, `,"to":""`, "", 1)
			c.does = deed("0x", fmt.Sprint(11+i), "0xfe")
		}
		code, body := post(t, api+"/v1/transactions", fmt.Sprintf(`{"account":"payer",%s"value":"%d","idempotency_key":"bad %d",%s}`, to, 11+i, i, c.more))
		if code != http.StatusAccepted {
			t.Fatalf("%d %v", code, body)
		}
		asked[fmt.Sprint(body["id"])] = c.does
		rejected = append(rejected, fmt.Sprint(body["id"]))
	}
	maps.Copy(asked, wished(t, n, 0, 2))
	judgeRevoked(t, chain, db.URL, asked, rejected)
	for i, id := range rejected {
		is := shown(t, api, id)
		if is["fate"] != "rejected" || is["why"] == "" {
			t.Errorf("bad %d: %v", i, is)
		}
	}
}
