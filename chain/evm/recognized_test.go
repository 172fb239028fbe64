package evm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// full is a node of blocks that are all alike. It counts what it is asked.
type full struct {
	hashes   []common.Hash
	receipts []any // in binary, or an error for the request
	failed   bool  // says the receipt in JSON
	asked    map[string]int
}

func (n *full) say(method string, params []json.RawMessage) any {
	n.asked[method]++
	switch method {
	case "eth_sendRawTransaction":
		var signed hexutil.Bytes
		_ = json.Unmarshal(params[0], &signed)
		return signed
	case "eth_getBlockByHash":
		return map[string]any{"transactions": n.hashes}
	case "debug_getRawReceipts":
		if err, refused := n.receipts[0].(error); refused {
			return err
		}
		return n.receipts
	case "eth_getTransactionByHash":
		return map[string]any{"hash": params[0], "from": sender, "nonce": "0x63"}
	case "eth_getBlockReceipts":
		status := "0x1"
		if n.failed {
			status = "0x0"
		}
		var all []any
		for _, hash := range n.hashes {
			all = append(all, map[string]any{"transactionHash": hash, "from": sender, "status": status})
		}
		return all
	}
	return healthy(method, params)
}

// block has so many transactions, and binary receipts of success.
func (n *full) block(first, many int) {
	n.hashes, n.receipts = nil, nil
	for i := range many {
		n.hashes = append(n.hashes, named(first+i))
		raw, _ := (&types.Receipt{Type: types.DynamicFeeTxType, Status: types.ReceiptStatusSuccessful}).MarshalBinary()
		n.receipts = append(n.receipts, hexutil.Bytes(raw))
	}
}

func named(i int) (hash common.Hash) {
	copy(hash[:], fmt.Sprintf("transaction %20d", i))
	return hash
}

// After a block of nothing but what was handed over the next is read by its hashes and
// its binary receipts; wherever these do not say all, by the receipts as before.
func TestABlockOfOursAlone(t *testing.T) {
	t.Parallel()
	binary := func(r types.Receipt) hexutil.Bytes {
		raw, _ := r.MarshalBinary()
		return raw
	}
	bloom, _ := rlp.EncodeToBytes(make([]byte, types.BloomByteLength))
	fields := func(first, third []byte) hexutil.Bytes { // the other two are a number and an empty list
		b := rlp.NewEncoderBuffer(nil)
		list := b.List()
		_, _ = b.Write(slices.Concat(first, []byte{5}, third, []byte{0xc0}))
		b.ListEnd(list)
		return b.ToBytes()
	}
	for name, c := range map[string]struct {
		change func(*full)
		failed bool
		whole  bool // is also asked for the receipts in JSON
		index  uint64
		other  bool // the second is another account's
		once   bool // for the next block it is not asked in binary
	}{
		"both done":         {},
		"another account's": {other: true},
		"both failed": {failed: true, change: func(n *full) {
			n.receipts = []any{binary(types.Receipt{Type: types.DynamicFeeTxType}), binary(types.Receipt{Type: types.LegacyTxType})}
		}},
		"of an unknown kind":      {change: func(n *full) { n.receipts[0] = append(hexutil.Bytes{0x7e}, n.receipts[0].(hexutil.Bytes)[1:]...) }},
		"not offered":             {whole: true, once: true, change: func(n *full) { n.receipts = []any{errors.New("the method debug_getRawReceipts does not exist")} }},
		"without an answer":       {whole: true, once: true, change: func(n *full) { n.receipts = []any{errHush} }},
		"one is missing":          {whole: true, change: func(n *full) { n.receipts = n.receipts[1:] }},
		"one more than there are": {whole: true, change: func(n *full) { n.receipts = append(n.receipts, n.receipts[0]) }},
		"a root, no status":       {whole: true, change: func(n *full) { n.receipts[1] = binary(types.Receipt{PostState: make([]byte, 32)}) }},
		"cut short":               {whole: true, change: func(n *full) { n.receipts[1] = n.receipts[1].(hexutil.Bytes)[:99] }},
		"with more behind it":     {whole: true, change: func(n *full) { n.receipts[1] = append(n.receipts[1].(hexutil.Bytes), 1) }},
		"empty":                   {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{} }},
		"no list":                 {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{2, 0x81, 0xff} }},
		"a list of a list":        {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{0xc0}, bloom) }},
		"a status of 2":           {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{2}, bloom) }},
		"a status and no more":    {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{0xc1, 1} }},
		"as eth/69 has it":        {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{1}, []byte{1}) }},
		"one is not ours":         {whole: true, once: true, index: 0x63, change: func(n *full) { n.hashes[1] = named(77) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &full{asked: map[string]int{}}
			driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say)})
			read := func() []chain.Inclusion {
				t.Helper()
				got, err := driver.Inclusions(t.Context(), chain.Block{Hash: "b"}, []chain.Account{chain.Account(sender)})
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			for i := 1; i <= 5; i++ {
				hash, from := named(i), chain.Account(sender)
				if c.other && i == 4 {
					from = "somebody else with 20"
				}
				send(t, driver, []chain.Signed{{Account: from, Index: uint64(i), Hash: chain.Hash(hash[:]), Bytes: hash[:]}}, chain.Accepted)
			}
			n.block(1, 2)
			read()
			if n.asked["debug_getRawReceipts"] > 0 || n.asked["eth_getBlockReceipts"] != 1 {
				t.Fatalf("of the first block it asked %v", n.asked)
			}
			n.block(3, 2)
			n.failed = c.failed
			if c.change != nil {
				c.change(n)
			}
			want := []chain.Inclusion{{Account: chain.Account(sender), Index: 3}, {Account: chain.Account(sender), Index: 4}}
			for i := range want {
				want[i].Hash, want[i].Failed = chain.Hash(n.hashes[i][:]), c.failed
			}
			if c.index != 0 {
				want[1].Index = c.index
			}
			if c.other {
				want = want[:1]
			}
			if got := read(); !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if whole := n.asked["eth_getBlockReceipts"] == 2; whole != c.whole || n.asked["debug_getRawReceipts"] == 0 {
				t.Errorf("it asked %v", n.asked)
			}
			n.block(5, 1)
			clear(n.asked)
			read()
			if again := n.asked["debug_getRawReceipts"] > 0; again == c.once {
				t.Errorf("for the next block it asked %v", n.asked)
			}
		})
	}
}

// What stands before a node may refuse all of a request that has the method in it. That is
// no failure of the block, which is read otherwise, and is tried again ever more rarely.
func TestARequestThatIsRefusedForTheMethod(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) },
		"one answer": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`)
		},
		"line is ended": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &full{asked: map[string]int{}}
			node, err := url.Parse(serve(t, n.say))
			if err != nil {
				t.Fatal(err)
			}
			refused, allowed := 0, false
			pass := httputil.NewSingleHostReverseProxy(node)
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "debug_") && !allowed {
					refused++
					refuse(w, r)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				pass.ServeHTTP(w, r)
			}))
			t.Cleanup(gateway.Close)
			driver := open(t, evm.Config{ChainID: 1337, URL: gateway.URL})
			next := 1
			read := func() {
				t.Helper()
				hash := named(next)
				send(t, driver, []chain.Signed{
					{Account: chain.Account(sender), Index: uint64(next), Hash: chain.Hash(hash[:]), Bytes: hash[:]},
					{Account: chain.Account(sender), Index: 0, Hash: "another that waits", Bytes: []byte("another that waits")},
				}, chain.Accepted)
				n.block(next, 1)
				got, err := driver.Inclusions(t.Context(), chain.Block{Hash: "b"}, []chain.Account{chain.Account(sender)})
				if err != nil || len(got) != 1 || got[0].Index != uint64(next) {
					t.Fatalf("block %d: %+v, %v", next, got, err)
				}
				next++
			}
			read()
			once := n.asked["eth_chainId"]
			for range 99 {
				read()
			}
			if refused != 3 { // with the 2nd block, after 16, after 32; and the next one after 64
				t.Errorf("it was refused %d times in 100 blocks", refused)
			}
			if asked := n.asked["eth_chainId"]; asked != once*(1+refused) { // at first, and after each silence
				t.Errorf("which chain it is was asked %d times at first, %d times with %d silences", once, asked, refused)
			}
			allowed = true
			for range 40 {
				read()
			}
			clear(n.asked)
			for range 20 {
				read()
			}
			if n.asked["debug_getRawReceipts"] != 20 || n.asked["eth_getBlockReceipts"] != 0 {
				t.Errorf("once it is allowed, of 20 blocks it asks %v", n.asked)
			}
			allowed, refused = false, 0
			for range 20 {
				read()
			}
			if refused != 2 { // the pauses begin anew
				t.Errorf("forbidden once more, it was refused %d times in 20 blocks", refused)
			}
		})
	}
}

// The node of the tests gives them, or nothing here would show that real ones can be read.
func TestReceiptsOfARealNode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var receipts []hexutil.Bytes
	n.call(new(any), "dev_burn", "0x1")
	n.call(&receipts, "debug_getRawReceipts", "latest")
	for _, r := range receipts {
		if succeeded, readable := evm.Status(r); succeeded || !readable { // they burn all that they may
			t.Errorf("succeeded %v, readable %v: %v", succeeded, readable, r)
		}
	}
	if len(receipts) == 0 {
		t.Error("a full block has no receipts")
	}
}
