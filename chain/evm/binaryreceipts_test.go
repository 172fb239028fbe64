package evm_test

import (
	"bytes"
	"context"
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
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// full is a node whose blocks are all alike. It counts its calls.
type full struct {
	hashes   []common.Hash
	receipts []any // binary receipts, or one error for the call
	failed   bool  // the receipts in JSON say that the calls failed
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

// block gives the node a block of many successful transactions, numbered from first.
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

// After a block of submitted attempts alone the next is read by its hashes and binary receipts. If
// these are not complete it is read by its receipts in JSON.
func TestABlockOfOursAlone(t *testing.T) {
	t.Parallel()
	binary := func(r types.Receipt) hexutil.Bytes {
		raw, _ := r.MarshalBinary()
		return raw
	}
	bloom, _ := rlp.EncodeToBytes(make([]byte, types.BloomByteLength))
	fields := func(first, third []byte) hexutil.Bytes { // the other fields are a number and an empty list
		b := rlp.NewEncoderBuffer(nil)
		list := b.List()
		_, _ = b.Write(slices.Concat(first, []byte{5}, third, []byte{0xc0}))
		b.ListEnd(list)
		return b.ToBytes()
	}
	for name, c := range map[string]struct {
		change func(*full)
		failed bool
		whole  bool // the receipts in JSON are read too
		index  uint64
		other  bool // the second transaction is another account's
		once   bool // the next block is not read in binary
	}{
		"both succeeded":    {},
		"another account's": {other: true},
		"both failed": {failed: true, change: func(n *full) {
			n.receipts = []any{binary(types.Receipt{Type: types.DynamicFeeTxType}), binary(types.Receipt{Type: types.LegacyTxType})}
		}},
		"of an unknown type":      {change: func(n *full) { n.receipts[0] = append(hexutil.Bytes{0x7e}, n.receipts[0].(hexutil.Bytes)[1:]...) }},
		"no such method":          {whole: true, once: true, change: func(n *full) { n.receipts = []any{errors.New("the method debug_getRawReceipts does not exist")} }},
		"without an answer":       {whole: true, once: true, change: func(n *full) { n.receipts = []any{errNoAnswer} }},
		"one is missing":          {whole: true, change: func(n *full) { n.receipts = n.receipts[1:] }},
		"one more than there are": {whole: true, change: func(n *full) { n.receipts = append(n.receipts, n.receipts[0]) }},
		"a root for a status":     {whole: true, change: func(n *full) { n.receipts[1] = binary(types.Receipt{PostState: make([]byte, 32)}) }},
		"cut short":               {whole: true, change: func(n *full) { n.receipts[1] = n.receipts[1].(hexutil.Bytes)[:99] }},
		"with a byte after it":    {whole: true, change: func(n *full) { n.receipts[1] = append(n.receipts[1].(hexutil.Bytes), 1) }},
		"empty":                   {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{} }},
		"not a list":              {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{2, 0x81, 0xff} }},
		"a list of a list":        {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{0xc0}, bloom) }},
		"a status of 2":           {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{2}, bloom) }},
		"a status alone":          {whole: true, change: func(n *full) { n.receipts[1] = hexutil.Bytes{0xc1, 1} }},
		"in the form of eth/69":   {whole: true, change: func(n *full) { n.receipts[1] = fields([]byte{1}, []byte{1}) }},
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
				t.Fatalf("for the first block: got calls %v, want receipts in JSON alone", n.asked)
			}
			n.block(3, 2)
			n.failed = c.failed
			if c.change != nil {
				c.change(n)
			}
			want := []chain.Inclusion{{Account: chain.Account(sender), Index: 3}, {Account: chain.Account(sender), Index: 4}}
			for i := range want {
				want[i].Hash, want[i].Block, want[i].Effect = chain.Hash(n.hashes[i][:]), chain.Block{Hash: "b"}, chain.EffectOf(c.failed)
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
				t.Errorf("got calls %v, want binary receipts, and those in JSON: %v", n.asked, c.whole)
			}
			n.block(5, 1)
			clear(n.asked)
			read()
			if again := n.asked["debug_getRawReceipts"] > 0; again == c.once {
				t.Errorf("for the next block: got calls %v, want binary receipts: %v", n.asked, !c.once)
			}
		})
	}
}

// If a proxy refuses the request for its method, the block is read otherwise, and later tries are rare.
func TestARequestThatIsRefusedForTheMethod(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) },
		"one answer": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`)
		},
		"connection is closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
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
					t.Fatalf("block %d: got %+v, %v, want one transaction of that nonce", next, got, err)
				}
				next++
			}
			read()
			once := n.asked["eth_chainId"]
			for range 99 {
				read()
			}
			if refused != 3 { // at block 2, then after 16 blocks, then after 32; the next is after 64
				t.Errorf("got %d refused requests in 100 blocks, want 3", refused)
			}
			if asked := n.asked["eth_chainId"]; asked != once*(1+refused) { // at first, and after each refusal
				t.Errorf("got %d calls for the chain ID, want %d, %d for each of %d refusals more", asked, once*(1+refused), once, refused)
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
				t.Errorf("once it is allowed: got calls %v for 20 blocks, want 20 for binary receipts, none for JSON", n.asked)
			}
			allowed, refused = false, 0
			for range 20 {
				read()
			}
			if refused != 2 { // the pauses begin again at 16
				t.Errorf("refused once more: got %d refused requests in 20 blocks, want 2", refused)
			}
		})
	}
}

// The receipts of conch-devnode show that real ones can be read.
func TestReceiptsOfARealNode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var receipts []hexutil.Bytes
	n.call(new(any), "dev_burn", "0x1")
	n.call(&receipts, "debug_getRawReceipts", "latest")
	for _, r := range receipts {
		if succeeded, readable := evm.Status(r); succeeded || !readable { // they run out of gas
			t.Errorf("got succeeded %v, readable %v, want a readable failure: %v", succeeded, readable, r)
		}
	}
	if len(receipts) == 0 {
		t.Error("got no receipts of a full block")
	}
}

// gathering is a signer outside this process, which signs once so many requests are there.
type gathering struct {
	*evm.Keystore
	many  int
	mu    sync.Mutex
	there int
	most  int
	all   chan struct{}
	once  sync.Once // closes all
}

func (g *gathering) Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	g.mu.Lock()
	g.there++
	if g.most = max(g.most, g.there); g.there == g.many {
		g.once.Do(func() { close(g.all) })
	}
	g.mu.Unlock()
	select {
	case <-g.all:
	case <-time.After(10 * time.Second): // fewer are asked at once
	}
	g.mu.Lock()
	g.there--
	g.mu.Unlock()
	return g.Keystore.Sign(ctx, tx)
}

// A signer outside this process is asked for 32 signatures at once, however few processors there are.
func TestRemoteSignersAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	g := &gathering{Keystore: evm.NewKeystore(newKey(t)), many: 32, all: make(chan struct{})}
	n := &node{height: 5, asked: map[string]int{}}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{g}})
	var drafts []chain.Draft
	for i := range uint64(40) {
		drafts = append(drafts, chain.Draft{Account: g.Account(), Index: i, Call: chain.Call{To: make([]byte, 20), Gas: 21_000}})
	}
	prepared, err := c.Prepare(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prepared {
		if p.Err != nil || p.Index != uint64(i) {
			t.Fatalf("draft %d: %+v", i, p)
		}
	}
	if g.most != 32 {
		t.Errorf("%d signatures were asked for at once, want 32", g.most)
	}
}
