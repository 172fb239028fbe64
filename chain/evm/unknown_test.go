package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// What may be secret, and what differs between errors of a kind, has a placeholder.
func TestRedact(t *testing.T) {
	t.Parallel()
	hash := "0x" + strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"nothing to hide": "nothing to hide",
		"see https://mainnet.infura.io/v3/0123456789abcdef ok":                 "see <url> ok",
		`Post "https://u:p@rpc.example/KEY?x=1": EOF`:                          `Post "<url>": EOF`,
		"wss://rpc.example/KEY":                                                "<url>",
		"mainnet.infura.io/v3/KEY failed":                                      "<url> failed",
		"rpc.example:8545/KEY failed":                                          "<url> failed",
		"tx " + hash + " of 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971 is odd": "tx <hash> of <address> is odd",
		"calldata 0xdeadbeef":                                                  "calldata <hex>",
		"expected nonce 17 but got 19":                                         "expected nonce <n> but got <n>",
		"paid 1,000.5 of 2000 (3)":                                             "paid <n> of <n> (<n>)",
		"eip-1559 is off, above 2^256":                                         "eip-1559 is off, above <n>^256",
		"key 5f3a9c is bad":                                                    "key <key> is bad",
		"api key: secretive":                                                   "api key: <key>",
		`{"token":"hunter"}`:                                                   `{"token":"<key>"}`,
		"Authorization: hunter":                                                "Authorization: <key>",
		"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x":                        "Bearer <key>",
		"project id 0123abcd has no access":                                    "project id <key> has no access",
		"app q1w2e3r4t5y6u7i8 is over":                                         "app <key> is over",
		"9f1b6d2e-1c3a-4a77-9d0b-0a1b2c3d4e5f is over":                         "<key> is over",
		"somebody@example.com is over":                                         "<user> is over",
		"your address 10.1.2.3 is blocked":                                     "your address <n> is blocked",
		"InvalidMaxPriorityFeePerGas stays":                                    "InvalidMaxPriorityFeePerGas stays",
		"two\nlines\tand\x1b[31m a color":                                      "two lines and [<n>m a color",
		"bad \xff bytes":                                                       "bad bytes",
		strings.Repeat("long ", 100):                                           strings.TrimSpace(strings.Repeat("long ", 100)[:200]) + " …",
		strings.Repeat(" ", 4080) + "key q1w2e3r4t5y6u7i8o9p0":                 "key",
		strings.Repeat("q1w2e3r4", 1000):                                       "",
		"the password is hunter22 and the URL has path-of-the-endpoint.":       "the password is <key> and the URL has <key>.",
	} {
		if got := evm.Redact(text, []string{"hunter22", "path-of-the-endpoint"}); got != want {
			t.Errorf("%q:\n got %q,\nwant %q", text, got, want)
		}
	}
}

// A text that is unknown is counted, without the endpoint's secrets, which the node may repeat.
func TestUnknownErrors(t *testing.T) {
	t.Parallel()
	const id = 0xC0DE // no other test has this chain
	key := "letmein-abc"
	odd := "a flux capacitor is missing at %s for " + key + ", " + secretPath + " and bearer-of-news, nonce %d"
	own := evm.NewKeystore(newKey(t))
	var url string
	sent := 0
	backend := serve(t, func(method string, params []json.RawMessage) any {
		switch {
		case method == "eth_chainId":
			return "0xc0de"
		case method == "eth_sendRawTransaction" && sent == 3:
			return errors.New("nonce too low")
		case method == "eth_sendRawTransaction":
			sent++
			return fmt.Errorf(odd, url, sent)
		case method == "eth_estimateGas" && strings.Contains(string(params[0]), "input"):
			return fault{-32001, "no plutonium"}
		case method == "eth_estimateGas":
			return "0x5208"
		}
		return healthy(method, params)
	})
	url = backend + "/" + secretPath + "?apikey=" + key
	config := evm.Config{ChainID: id, URL: url, Signers: []evm.Signer{own}, Header: http.Header{"X-Token": {"bearer-of-news"}}}
	c := open(t, config)
	if got := c.UnknownErrors(); len(got) != 0 {
		t.Errorf("before an error: got %v", got)
	}
	c.Submit(t.Context(), make([]chain.Signed, 4))
	if _, err := c.Prepare(t.Context(), []chain.Draft{{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Data: []byte{1}}}}); err != nil {
		t.Fatal(err)
	}
	want := []evm.UnknownError{
		{Method: "eth_sendRawTransaction", Code: -32000, Text: "a flux capacitor is missing at <key> for <key>, <key> and <key>, nonce <n>", Count: 3},
		{Method: "eth_estimateGas", Code: -32001, Text: "no plutonium", Count: 2}, // it is asked again beside an empty call
	}
	if got := open(t, config).UnknownErrors(); !slices.Equal(got, want) { // of this process, not of one driver
		t.Errorf("got  %+v,\nwant %+v", got, want)
	}
	for _, e := range c.UnknownErrors() {
		for _, secret := range []string{key, secretPath, "bearer-of-news"} {
			if strings.Contains(fmt.Sprintf("%+v", e), secret) {
				t.Errorf("%+v has the secret %q in it", e, secret)
			}
		}
	}
}

// No more than so many are kept, and those that come again and again stay.
func TestUnknownErrorsAreBounded(t *testing.T) {
	t.Parallel()
	add, all := evm.UnknownAdder()
	for i := range 1000 {
		add(evm.UnknownError{Text: "often"})
		add(evm.UnknownError{Text: fmt.Sprint("once, as number ", i)})
	}
	got := all()
	if len(got) != evm.KeptUnknown || got[0] != (evm.UnknownError{Text: "often", Count: 1000}) {
		t.Fatalf("got %d errors, the first %+v, want %d and the frequent one first", len(got), got[0], evm.KeptUnknown)
	}
	if last := got[len(got)-1]; last.Text != "once, as number 999" {
		t.Errorf("got %+v as the last, want the newest", last)
	}
	add(evm.UnknownError{Text: "often", Code: 1})
	if got = all(); got[0].Count != 1000 {
		t.Errorf("another code: got %+v, want another error", got[0])
	}
}
