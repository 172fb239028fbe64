package evm_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// What is said of a call says whether it can ever be executed, or something of the node,
// of who asks, or nothing at all: rejected is only what the first is said of.
func TestWhatARefusalSays(t *testing.T) {
	t.Parallel()
	own := evm.Hold(newKey(t))
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
		"a precompiled contract":           {picky{says: errors.New("invalid input length")}, chain.ErrCall},
		"the text of an error of the EVM":  {picky{says: errors.New("return data out of bounds")}, chain.ErrCall},
		"no funds":                         {picky{says: errors.New("insufficient funds for transfer")}, chain.ErrFunds},
		"too many requests":                {picky{says: errors.New("Too Many Requests")}, chain.ErrAnswer},
		"out of time":                      {picky{says: fault{-32002, "request timed out"}}, chain.ErrAnswer},
		"a state that is lost":             {picky{says: errors.New("missing trie node 0102 (path 03)")}, chain.ErrAnswer},
		"words that nobody knows":          {picky{says: errors.New("a flux capacitor is missing")}, chain.ErrUnclear},
		"the same of an empty call":        {picky{says: errors.New("a flux capacitor is missing"), others: errors.New("a flux capacitor is missing")}, chain.ErrAnswer},
		"of an account that reverts":       {picky{says: errors.New("a flux capacitor is missing"), others: fault{3, "execution reverted"}}, chain.ErrUnclear},
		"only once":                        {picky{once: errors.New("a flux capacitor is missing"), says: "0xffff"}, nil},
		"then it is silent":                {picky{once: errors.New("a flux capacitor is missing"), says: errHush}, chain.ErrUnreachable},
		"a gas of nothing":                 {picky{says: "0x0"}, chain.ErrAnswer},
		"nothing":                          {picky{says: nil}, chain.ErrUnreachable},
		"it syncs":                         {picky{says: fault{3, "execution reverted"}, syncing: far("0x1", "0x2")}, chain.ErrAnswer},
		"it syncs, and nobody knows":       {picky{says: errors.New("a flux capacitor is missing"), syncing: far("0x1", "0x2")}, chain.ErrAnswer},
		"it syncs, it does not say how":    {picky{says: fault{3, "execution reverted"}, syncing: true}, chain.ErrAnswer},
		"it is there, and indexes":         {picky{says: fault{3, "execution reverted"}, syncing: far("0x2", "0x2")}, chain.ErrCall},
		"it does not sync":                 {picky{says: fault{3, "execution reverted"}, syncing: false}, chain.ErrCall},
		"whether it syncs is not answered": {picky{says: fault{3, "execution reverted"}, syncing: errHush}, chain.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, c.node.say), Signers: []evm.Signer{own}})
			all, err := driver.Prepare(t.Context(), []chain.Draft{
				{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Data: []byte{1}}},
				{Account: own.Account(), Index: 1, Call: chain.Call{To: make([]byte, 20), Data: []byte{1}, Gas: 50_000}},
			})
			if err == nil && all[1].Err != nil {
				t.Errorf("a call that brings its gas: %v", all[1].Err)
			}
			if err == nil {
				err = all[0].Err
			}
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			for _, other := range []error{chain.ErrCall, chain.ErrUnclear, chain.ErrFunds} {
				if !errors.Is(c.want, other) && errors.Is(err, other) {
					t.Errorf("%v is %v as well", err, other)
				}
			}
		})
	}
}

// What stands before a node may refuse a request for whether it syncs: that says nothing
// of the call, and does not keep it from being rejected.
func TestAGatewayThatDoesNotSayWhetherItSyncs(t *testing.T) {
	t.Parallel()
	own, node := evm.Hold(newKey(t)), picky{says: fault{3, "execution reverted"}}
	backend := serve(t, node.say)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "eth_syncing") {
			w.WriteHeader(http.StatusForbidden)
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
	if err != nil || !errors.Is(all[0].Err, chain.ErrCall) {
		t.Errorf("%+v, %v", all, err)
	}
}

// What go-ethereum's EVM and its precompiled contracts refuse, it says in bare words under
// the code of everything else; each is known for a call that nobody ever executes.
func TestCallsThatNobodyExecutes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	own := evm.Hold(n.key)
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
			t.Errorf("%s: %v, want one that wraps %q", names[i], p.Err, chain.ErrCall)
		}
	}
}
