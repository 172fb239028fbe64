package evm_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// node is a chain whose head the test moves, and which counts what it is asked.
type node struct {
	mu     sync.Mutex
	height uint64
	asked  map[string]int
	lean   bool // it gives headers alone
}

func (n *node) say(method string, params []json.RawMessage) any {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[method]++
	switch {
	case method == "eth_getHeaderByNumber" && n.lean, method == "eth_getBlockByNumber":
		hash := func(height uint64) hexutil.Bytes { return big.NewInt(int64(height) + 1).FillBytes(make([]byte, 32)) }
		return map[string]any{
			"number": hexutil.Uint64(n.height), "hash": hash(n.height), "parentHash": hash(n.height - 1),
			"gasLimit": "0x1c9c380", "baseFeePerGas": hexutil.Uint64(1000 * (n.height + 1)),
		}
	}
	return healthy(method, params)
}

// since the last time, how often it was asked.
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

// Under one head nothing is asked twice, and a new head is asked about. Without anybody
// who follows the chain, nothing is believed.
func TestQuotesAreOfTheHead(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.Hold(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}, Poll: time.Second}) // a head is believed for two of them
	for range 2 {
		if bid(t, c, own.Account()); n.since("eth_getBalance") != 1 || n.since("eth_maxPriorityFeePerGas") != 1 {
			t.Error("nobody follows the chain, and the node was not asked")
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
				t.Errorf("block %d: it bids %v, want %v", turn.Block.Number, got, fee)
			}
			want := 0
			if i == 0 {
				want = 1
			}
			if b, tip := n.since("eth_getBalance"), n.since("eth_maxPriorityFeePerGas"); b != want || tip != want {
				t.Errorf("block %d, time %d: the balance was asked for %d times, the tip %d times", turn.Block.Number, i, b, tip)
			}
		}
		if n.since("eth_getBlockByNumber") > 0 {
			t.Error("the head was asked for although it is known")
		}
		if n.move(); turn.Block.Number == 7 {
			break
		}
	}
}

// Whoever can give headers alone is not asked for whole blocks.
func TestHeadersAlone(t *testing.T) {
	t.Parallel()
	for _, lean := range []bool{true, false} {
		n := &node{height: 5, asked: map[string]int{}, lean: lean}
		c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Poll: 20 * time.Millisecond})
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
		if lean != (headers > blocks) {
			t.Errorf("lean %v: %d headers and %d blocks were asked for", lean, headers, blocks)
		}
	}
}

// Who was warm asks for nothing more to prepare the first transaction of a term.
func TestWarm(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.Hold(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}, Poll: time.Minute})
	c.Warm(t.Context(), own.Account())
	c.Warm(t.Context(), "somebody else")
	if b, tip := n.since("eth_getBalance"), n.since("eth_maxPriorityFeePerGas"); b != 1 || tip != 1 {
		t.Errorf("to get warm, the balance was asked for %d times, the tip %d times", b, tip)
	}
	n.since("eth_getBlockByNumber")
	if got, want := bid(t, c, own.Account()), big.NewInt(2*1000*6+1); got.Cmp(want) != 0 {
		t.Errorf("it bids %v, want %v", got, want)
	}
	if n.since("eth_getBalance")+n.since("eth_maxPriorityFeePerGas")+n.since("eth_getBlockByNumber") != 0 {
		t.Error("what was known was asked for again")
	}
}

// A node that answers in the place of another may give no headers alone: that answer ends
// the sequence, and the next one asks for blocks.
func TestANodeThatCanLess(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}, lean: true}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Poll: 20 * time.Millisecond})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.lean = false
	n.mu.Unlock()
	first := func() (turn chain.Turn, err error) {
		for turn, err = range c.Heads(t.Context(), chain.Block{}) {
			break
		}
		return turn, err
	}
	if _, err := first(); !errors.Is(err, chain.ErrAnswer) {
		t.Fatalf("it was not found out: %v", err)
	}
	if turn, err := first(); err != nil || turn.Block.Number != 5 {
		t.Errorf("%+v, %v", turn, err)
	}
}
