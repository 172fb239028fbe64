package evm_test

import (
	"strings"
	"testing"

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
