package evm_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// node counts the calls, and has a head that the test moves.
type node struct {
	mu          sync.Mutex
	height      uint64
	asked       map[string]int
	headersOnly bool // it has eth_getHeaderByNumber
}

func (n *node) say(method string, params []json.RawMessage) any {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[method]++
	switch {
	case method == "eth_estimateGas":
		return "0x5208"
	case method == "eth_getHeaderByNumber" && n.headersOnly, method == "eth_getBlockByNumber", method == "eth_getBlockByHash":
		hash := func(height uint64) hexutil.Bytes { return big.NewInt(int64(height) + 1).FillBytes(make([]byte, 32)) }
		return map[string]any{
			"number": hexutil.Uint64(n.height), "hash": hash(n.height), "parentHash": hash(n.height - 1),
			"gasLimit": "0x1c9c380", "baseFeePerGas": hexutil.Uint64(1000 * (n.height + 1)),
		}
	}
	return healthy(method, params)
}

// since returns the number of calls of a method since the last call of since.
func (n *node) since(method string) (times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	times = n.asked[method]
	n.asked[method] = 0
	return times
}

func (n *node) move() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.height++
}

func bid(t *testing.T, c *evm.Chain, a chain.Account) *big.Int {
	t.Helper()
	all, err := c.Prepare(t.Context(), []chain.Draft{{Account: a, Call: chain.Call{To: []byte(a), Gas: 21_000}}})
	if err != nil || all[0].Err != nil {
		t.Fatal(err, all)
	}
	return all[0].Fee.Max
}

// Fees and balances are asked for once a head while the chain is followed, otherwise each time.
func TestQuotesAreOfTheHead(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.NewKeystore(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}, Poll: time.Second}) // a quote is fresh for two of them
	// It asks which methods there are.
	if _, err := c.Tip(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.since("eth_maxPriorityFeePerGas")
	for range 2 {
		if bid(t, c, own.Account()); n.since("eth_getBalance") != 1 || n.since("eth_maxPriorityFeePerGas") != 1 {
			t.Error("the chain is not followed: want one call for the balance and one for the tip")
		}
	}
	for turn, err := range c.Heads(t.Context(), chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind != chain.Applied {
			continue
		}
		fee := big.NewInt(2*1000*int64(turn.Block.Number+1) + 1)
		n.since("eth_getBlockByNumber")
		for i := range 3 {
			if got := bid(t, c, own.Account()); got.Cmp(fee) != 0 {
				t.Errorf("block %d: got price %v, want %v", turn.Block.Number, got, fee)
			}
			want := 0
			if i == 0 {
				want = 1
			}
			if b, tip := n.since("eth_getBalance"), n.since("eth_maxPriorityFeePerGas"); b != want || tip != want {
				t.Errorf("block %d, draft %d: got %d calls for the balance and %d for the tip, want %d", turn.Block.Number, i, b, tip, want)
			}
		}
		if n.since("eth_getBlockByNumber") > 0 {
			t.Error("got calls for a head that was known, want none")
		}
		if n.move(); turn.Block.Number == 7 {
			break
		}
	}
}

// A node that has eth_getHeaderByNumber is not asked for whole blocks.
func TestHeadersAlone(t *testing.T) {
	t.Parallel()
	for _, headersOnly := range []bool{true, false} {
		n := &node{height: 5, asked: map[string]int{}, headersOnly: headersOnly}
		c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Depth: 1, Poll: 20 * time.Millisecond})
		if _, err := c.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.since("eth_getHeaderByNumber")
		n.since("eth_getBlockByNumber")
		for turn, err := range c.Heads(t.Context(), chain.Block{}) {
			if err != nil {
				t.Fatal(err)
			}
			if turn.Kind != chain.Applied {
				continue
			}
			if n.move(); turn.Block.Number == 7 {
				break
			}
		}
		headers, blocks := n.since("eth_getHeaderByNumber"), n.since("eth_getBlockByNumber")
		if headersOnly != (headers > blocks) {
			t.Errorf("got %d calls for headers and %d for blocks, want mostly headers: %v", headers, blocks, headersOnly)
		}
	}
}

// If the node loses eth_getHeaderByNumber, Heads ends once, and then asks for blocks.
func TestANodeThatCanLess(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}, headersOnly: true}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Depth: 1, Poll: 20 * time.Millisecond})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.headersOnly = false
	n.mu.Unlock()
	first := func() (turn chain.Turn, err error) {
		for turn, err = range c.Heads(t.Context(), chain.Block{}) {
			break
		}
		return turn, err
	}
	if _, err := first(); !errors.Is(err, chain.ErrAnswer) {
		t.Fatalf("the method is gone: got error %v, want %v", err, chain.ErrAnswer)
	}
	if turn, err := first(); err != nil || turn.Block.Number != 5 {
		t.Errorf("got %+v, %v, want block 5", turn, err)
	}
}

// F13: nothing can be signed for a chain whose blocks have no base fee, and the first question says so.
func TestALegacyChain(t *testing.T) {
	t.Parallel()
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		answer := healthy(method, params)
		if block, is := answer.(map[string]any); is {
			delete(block, "baseFeePerGas")
		}
		return answer
	})})
	if _, err := c.Describe(t.Context()); !errors.Is(err, chain.ErrUnsupported) || !strings.Contains(err.Error(), "no base fee") {
		t.Errorf("got error %v, want ErrUnsupported", err)
	}
}

// A transaction that waits and pays what is asked for is not replaced; one that pays too little is.
func TestStuckDrafts(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.NewKeystore(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}})
	draft := chain.Draft{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Gas: 21_000}, Stuck: true}
	for most, enough := range map[int64]bool{100_000: true, 5000: false} { // the base fee of block 5 is 6000
		draft.Above = chain.Fee{Max: big.NewInt(most), Tip: big.NewInt(1)}
		got, err := c.Prepare(t.Context(), []chain.Draft{draft})
		if err != nil || errors.Is(got[0].Err, chain.ErrEnough) != enough {
			t.Errorf("it pays %d at most: got %+v, error %v; want that it is enough: %v", most, got, err, enough)
		}
	}
}

// W19: a transaction of more than the balance is tried again and again, and costs no call while the balance is known.
func TestWhatCannotBePaidIsNotEstimated(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.NewKeystore(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}, Poll: time.Second})
	for turn, err := range c.Heads(t.Context(), chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Applied {
			break
		}
	}
	bid(t, c, own.Account())
	n.since("eth_estimateGas")
	dear := chain.Draft{Account: own.Account(), Call: chain.Call{To: []byte(own.Account()), Value: new(big.Int).Lsh(big.NewInt(1), 200)}}
	cheap := chain.Draft{Account: own.Account(), Call: chain.Call{To: []byte(own.Account())}}
	all, err := c.Prepare(t.Context(), []chain.Draft{dear, cheap})
	if err != nil || !errors.Is(all[0].Err, chain.ErrFunds) || errors.Is(all[0].Err, chain.ErrOwed) || all[1].Err != nil {
		t.Fatalf("got %+v, error %v; want no funds for the first, and the second signed", all, err)
	}
	if asked := n.since("eth_estimateGas"); asked != 1 {
		t.Errorf("%d estimates were asked for, want one", asked)
	}
}
