package evm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// Only an error about the call rejects it, not one about the node, the caller, or unrecognised.
func TestWhatARefusalSays(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	far := func(now, highest string) any { return map[string]any{"currentBlock": now, "highestBlock": highest} }
	for name, c := range map[string]struct {
		node picky
		want error
	}{
		"reverted":                         {picky{says: fault{3, "execution reverted"}}, chain.ErrCall},
		"reverted, in words about funds":   {picky{says: fault{3, "execution reverted: insufficient funds"}}, chain.ErrCall},
		"reverted, in words about limits":  {picky{says: fault{3, "execution reverted: rate limit"}}, chain.ErrCall},
		"reverted, without a code":         {picky{says: errors.New("VM Exception while processing transaction: revert deadline")}, chain.ErrCall},
		"a code of the EVM":                {picky{says: fault{-32015, "VM execution error."}}, chain.ErrCall},
		"no funds, to zkSync":              {picky{says: fault{3, "insufficient funds for gas + value. balance: 0, fee: 1, value: 2"}}, chain.ErrFunds},
		"a fee, to zkSync":                 {picky{says: fault{3, "not enough balance to cover the fee. error message: x"}}, chain.ErrFunds},
		"no answer of zkSync's main node":  {picky{says: fault{3, "Request timeout"}}, chain.ErrAnswer},
		"nor this time":                    {picky{says: fault{3, "error trying to connect: tcp connect error"}}, chain.ErrAnswer},
		"reverted, by its code":            {picky{says: fault{3, "a flux capacitor is missing"}}, chain.ErrCall},
		"no such method":                   {picky{says: fault{-32601, "a flux capacitor is missing"}}, chain.ErrAnswer},
		"not understood":                   {picky{says: fault{-32700, "parse error"}}, chain.ErrAnswer},
		"a limit, by its code":             {picky{says: fault{-32005, "a flux capacitor is missing"}}, chain.ErrAnswer},
		"a batch that is too large":        {picky{says: fault{-32600, "batch too large"}}, chain.ErrAnswer},
		"bad parameters":                   {picky{says: fault{-32602, "a flux capacitor is missing"}}, chain.ErrUnclear},
		"a precompiled contract":           {picky{says: errors.New("invalid input length")}, chain.ErrCall},
		"the text of an error of the EVM":  {picky{says: errors.New("return data out of bounds")}, chain.ErrCall},
		"no funds":                         {picky{says: errors.New("insufficient funds for transfer")}, chain.ErrFunds},
		"no funds, to Nethermind":          {picky{says: fault{-32015, "err: insufficient sender balance (supplied gas 30000000)"}}, chain.ErrFunds},
		"no funds, to Besu":                {picky{says: errors.New("Upfront cost exceeds account balance")}, chain.ErrFunds},
		"no funds, to Hardhat":             {picky{says: errors.New("Sender doesn't have enough funds to send tx")}, chain.ErrFunds},
		"no funds, to Anvil":               {picky{says: errors.New("EVM error OutOfFunds")}, chain.ErrFunds},
		"too many requests":                {picky{says: errors.New("Too Many Requests")}, chain.ErrAnswer},
		"out of time":                      {picky{says: fault{-32002, "request timed out"}}, chain.ErrAnswer},
		"a state that is lost":             {picky{says: errors.New("missing trie node 0102 (path 03)")}, chain.ErrAnswer},
		"an unrecognised error":            {picky{says: errors.New("a flux capacitor is missing")}, chain.ErrUnclear},
		"the same for an empty call":       {picky{says: errors.New("a flux capacitor is missing"), others: errors.New("a flux capacitor is missing")}, chain.ErrAnswer},
		"for an account that reverts":      {picky{says: errors.New("a flux capacitor is missing"), others: fault{3, "execution reverted"}}, chain.ErrUnclear},
		"only once":                        {picky{once: errors.New("a flux capacitor is missing"), says: "0xffff"}, nil},
		"then it is silent":                {picky{once: errors.New("a flux capacitor is missing"), says: errNoAnswer}, chain.ErrUnreachable},
		"an estimate of 0":                 {picky{says: "0x0"}, chain.ErrAnswer},
		"null":                             {picky{says: nil}, chain.ErrUnreachable},
		"it syncs":                         {picky{says: fault{3, "execution reverted"}, syncing: far("0x1", "0x2")}, chain.ErrAnswer},
		"it syncs, unrecognised":           {picky{says: errors.New("a flux capacitor is missing"), syncing: far("0x1", "0x2")}, chain.ErrAnswer},
		"it syncs, without a progress":     {picky{says: fault{3, "execution reverted"}, syncing: true}, chain.ErrAnswer},
		"it indexes at the head":           {picky{says: fault{3, "execution reverted"}, syncing: far("0x2", "0x2")}, chain.ErrCall},
		"it does not sync":                 {picky{says: fault{3, "execution reverted"}, syncing: false}, chain.ErrCall},
		"whether it syncs is not answered": {picky{says: fault{3, "execution reverted"}, syncing: errNoAnswer}, chain.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, c.node.say), Signers: []evm.Signer{own}})
			all, err := driver.Prepare(t.Context(), []chain.Draft{
				{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Data: []byte{1}}},
				{Account: own.Account(), Index: 1, Call: chain.Call{To: make([]byte, 20), Data: []byte{1}, Gas: 50_000}},
			})
			if err == nil && all[1].Err != nil {
				t.Errorf("a call with gas: got error %v, want none", all[1].Err)
			}
			if err == nil {
				err = all[0].Err
			}
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			for _, other := range []error{chain.ErrCall, chain.ErrUnclear, chain.ErrFunds} {
				if !errors.Is(c.want, other) && errors.Is(err, other) {
					t.Errorf("got error %v, want one that does not wrap %q", err, other)
				}
			}
		})
	}
}

// T16: an account with less than the value of a call is short of funds, whatever the node's text,
// and the call is not rejected. A revert is about the call, since the node checks funds first.
func TestWhoIsShortOfMoneyIsHeld(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	for name, c := range map[string]struct {
		says   any
		little error // wanted for a value above the balance
		enough error // wanted for the whole balance
	}{
		"an unrecognised error": {errors.New("a flux capacitor is missing"), chain.ErrFunds, chain.ErrUnclear},
		"a code of the EVM":     {fault{-32015, "VM execution error."}, chain.ErrFunds, chain.ErrCall},
		"reverted":              {fault{3, "execution reverted"}, chain.ErrCall, chain.ErrCall},
		"out of time":           {fault{-32002, "request timed out"}, chain.ErrAnswer, chain.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has := big.NewInt(1_000_000_000)
			for value, want := range map[*big.Int]error{new(big.Int).Add(has, big.NewInt(1)): c.little, has: c.enough} {
				node := picky{says: c.says}
				driver := open(t, evm.Config{ChainID: 1337, Signers: []evm.Signer{own}, URL: serve(t, func(method string, params []json.RawMessage) any {
					if method == "eth_getBalance" {
						return (*hexutil.Big)(has)
					}
					return node.say(method, params)
				})})
				all, err := driver.Prepare(t.Context(), []chain.Draft{
					{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Data: []byte{1}, Value: value}},
				})
				if err == nil {
					err = all[0].Err
				}
				if !errors.Is(err, want) {
					t.Errorf("balance %v, value %v: got error %v, want %v", has, value, err, want)
				}
			}
		})
	}
}

// A call is rejected although a proxy refuses eth_syncing, unless the proxy is busy or broken.
func TestAGatewayThatDoesNotSayWhetherItSyncs(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		http.StatusForbidden: chain.ErrCall, http.StatusMethodNotAllowed: chain.ErrCall, http.StatusNotImplemented: chain.ErrCall,
		http.StatusTooManyRequests: chain.ErrUnreachable, http.StatusServiceUnavailable: chain.ErrUnreachable,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			behindGateway(t, status, want)
		})
	}
}

func behindGateway(t *testing.T, status int, want error) {
	t.Helper()
	own, node := evm.NewKeystore(newKey(t)), picky{says: fault{3, "execution reverted"}}
	backend := serve(t, node.say)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "eth_syncing") {
			w.WriteHeader(status)
			return
		}
		if answer, err := http.Post(backend, "application/json", bytes.NewReader(body)); err == nil {
			_, _ = io.Copy(w, answer.Body)
			_ = answer.Body.Close()
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	driver := open(t, evm.Config{ChainID: 1337, URL: s.URL, Signers: []evm.Signer{own}})
	all, err := driver.Prepare(t.Context(), []chain.Draft{{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Data: []byte{1}}}})
	if err == nil {
		err = all[0].Err
	}
	if !errors.Is(err, want) {
		t.Errorf("got %+v, %v, want %v", all, err, want)
	}
}

// Each text of go-ethereum's EVM and precompiled contracts, which have no code, rejects the call.
func TestCallsThatNobodyExecutes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	own := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{own}})
	var names []string
	var drafts []chain.Draft
	add := func(name string, call chain.Call) {
		names, drafts = append(names, name), append(drafts, chain.Draft{Account: own.Account(), Index: uint64(len(drafts)), Call: call})
	}
	for name, code := range map[string]string{
		"an invalid opcode":            "0xfe",
		"a revert":                     "0x60006000fd",
		"a stack that is empty":        "0x50",
		"a jump to nowhere":            "0x600056",
		"code that begins with 0xef":   "0x60ef60005360016000f3",
		"more return data than is":     "0x6001600060003e",
		"more memory than is numbered": "0x60007fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff52",
		"a loop without an end":        "0x5b600056",
		"a code of too many bytes":     "0x62ffffff6000f3",
	} {
		add(name, chain.Call{Data: hexutil.MustDecode(code)})
	}
	for address, size := range map[string]int{
		"0x06": 64, "0x08": 1, "0x09": 1, "0x0a": 1, "0x0b": 1, "0x0c": 1, "0x0d": 1, "0x0e": 1, "0x0f": 1, "0x10": 64, "0x11": 128,
	} {
		data := []byte(strings.Repeat("\xff", size))
		add("the precompiled contract "+address, chain.Call{To: common.HexToAddress(address).Bytes(), Data: data})
	}
	blake := make([]byte, 213)
	blake[212] = 2
	add("a flag that is none", chain.Call{To: common.HexToAddress("0x09").Bytes(), Data: blake})
	add("a hash of nothing", chain.Call{To: common.HexToAddress("0x0a").Bytes(), Data: make([]byte, 192)})
	all, err := c.Prepare(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		if t.Log(names[i], ":", p.Err); !errors.Is(p.Err, chain.ErrCall) {
			t.Errorf("%s: got error %v, want one that wraps %q", names[i], p.Err, chain.ErrCall)
		}
	}
}

// A fault in errors.txt fails here and not in a program.
func TestErrorsFile(t *testing.T) {
	t.Parallel()
	if err := evm.ParsePhrases(evm.ErrorsText); err != nil {
		t.Error(err)
	}
}

// Each fault of a file is found, with its line.
func TestFaultsOfAnErrorsFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, fault string }{
		"none":                        {"# a comment\n\n[geth]\nknown\talready known\n", ""},
		"no tab":                      {"[geth]\nknown already known", `line 2: "known already known" has no tab`},
		"an unknown class":            {"[geth]\nknwon\talready known", `line 2: there is no class "knwon"`},
		"a class without a name":      {"[geth]\n\talready known", `line 2: there is no class ""`},
		"a capital":                   {"[geth]\nknown\tAlready known", "line 2: the phrase"},
		"a space at the end":          {"[geth]\nknown\talready known ", "line 2: the phrase"},
		"two tabs":                    {"[geth]\nknown\talready\tknown", "line 2: the phrase"},
		"no phrase":                   {"[geth]\nknown\t", "line 2: the phrase"},
		"a short phrase":              {"[geth]\nknown\tgas", "line 2: the phrase"},
		"a phrase of no words":        {"[geth]\nknown\t: gas", "line 2: the phrase"},
		"no section":                  {"known\talready known", "line 1: it is in no section"},
		"a section twice":             {"[geth]\n[geth]", `line 2: "[geth]" is no new section`},
		"a section without a name":    {"[]", `line 1: "[]" is no new section`},
		"a section without an end":    {"[geth", `line 1: "[geth" is no new section`},
		"the same phrase twice":       {"[geth]\nknown\talready known\n[reth]\nrefused\talready known", `line 4: "already known" never counts`},
		"a hidden phrase":             {"[geth]\nfee-too-low\tunderpriced\nunderpriced\treplacement transaction underpriced", `since "underpriced" is tried first (line 2)`},
		"a hidden estimate":           {"[geth]\nbusy\tnot found\nbusy\theader not found", "line 3: \"header not found\" never counts"},
		"not hidden: a part":          {"[geth]\nunderpriced\treplacement transaction underpriced\nfee-too-low\tunderpriced", ""},
		"not hidden: within a word":   {"[geth]\nknown\tknown transaction\nunfit\tunknown transaction type", ""},
		"not hidden: of other lists":  {"[geth]\nunfit\tintrinsic gas\ncall\tintrinsic gas\nbusy\tintrinsic gas", ""},
		"hidden: invalid counts last": {"[geth]\ninvalid\tinvalid sender\nrefused\tinvalid", `line 2: "invalid sender" never counts`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := evm.ParsePhrases(c.file)
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got faults %v, want %q", err, c.fault)
			}
		})
	}
	if err := evm.ParsePhrases("[geth]\nknown already known\nknwon\talready known"); err == nil || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("two bad lines: got %v, want both faults", err)
	}
}

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
