package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// liar is a node that gives a false answer for one block while it lies.
type liar struct {
	mu    sync.Mutex
	lies  bool
	about string // the tag, number or hash of the block
	says  any
}

const height = 20

func (l *liar) say(method string, params []json.RawMessage) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case "eth_getHeaderByNumber": // it has no such method
		return healthy(method, params)
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		var name string
		_ = json.Unmarshal(params[0], &name)
		if l.lies && name == l.about {
			return l.says
		}
		return tall(name)
	case "eth_blockNumber":
		return hexutil.Uint64(height)
	case "eth_getTransactionCount":
		if string(params[1]) == `"finalized"` { // so that the driver asks for the block
			return errors.New("no state for that tag")
		}
		return "0x1"
	case "eth_getTransactionByHash":
		return map[string]any{"hash": counted, "from": sender, "blockHash": tall("0x9")["hash"], "blockNumber": "0x9"}
	case "eth_getTransactionReceipt":
		return map[string]any{"transactionHash": counted, "from": sender, "blockHash": tall("0x9")["hash"], "status": "0x1"}
	case "eth_getBlockReceipts":
		return []any{map[string]any{"transactionHash": counted, "from": sender, "status": "0x1"}}
	}
	return healthy(method, params)
}

// tall returns the block of a tag, number or hash, with one transaction, on a chain of 20 blocks.
func tall(name string) map[string]any {
	n := uint64(height)
	if raw, err := hexutil.Decode(name); err == nil && len(raw) == 32 {
		n = new(big.Int).SetBytes(raw).Uint64() - 1
	} else if number, err := hexutil.DecodeUint64(name); err == nil && number <= height {
		n = number
	}
	b := block(n, head{height: height})
	b["transactions"] = []any{map[string]any{"hash": counted, "from": sender, "nonce": "0x0"}}
	return b
}

// T11: null or nonsense in place of a block says nothing: not that a block has no gas, nor that a
// transaction has left the chain, nor that a block is empty.
func TestWhatIsNoBlockSaysNothing(t *testing.T) {
	t.Parallel()
	without := func(name string, fields ...string) map[string]any {
		b := maps.Clone(tall(name))
		for _, field := range fields {
			delete(b, field)
		}
		return b
	}
	a, at9 := chain.Account(sender), chain.Hash(tall("0x9")["hash"].(hexutil.Bytes))
	heads := func(c *evm.Chain) (any, error) {
		for turn, err := range c.Heads(t.Context(), chain.Block{}) {
			return turn, err
		}
		return nil, nil
	}
	for name, c := range map[string]struct {
		about string
		says  []any
		ask   func(*evm.Chain) (any, error)
		fresh bool // it lies from the first call on
	}{
		"the limits of the chain": {"latest", []any{nil, map[string]any{}, without("latest", "hash"), without("latest", "gasLimit")},
			func(c *evm.Chain) (any, error) { return c.Describe(t.Context()) }, true},
		"a head": {"latest", []any{nil, map[string]any{}, without("latest", "hash"), without("latest", "parentHash"), without("latest", "number")},
			heads, false},
		"the block of a transaction": {"0x9", []any{nil, map[string]any{}, without("0x9", "hash"), tall("0x8")},
			func(c *evm.Chain) (any, error) { return c.Probe(t.Context(), []chain.Hash{chain.Hash(counted)}) }, false},
		"the transaction of a slot": {hexutil.Encode([]byte(at9)), []any{nil, map[string]any{}, without("0x9", "transactions"), tall("0x8")},
			func(c *evm.Chain) (any, error) {
				found, next, err := c.Scan(t.Context(), chain.Block{Number: 9, Hash: at9}, a, 9, 1)
				return []any{found, next}, err
			}, false},
		"the transactions of a block": {hexutil.Encode([]byte(at9)), []any{map[string]any{}, without("0x9", "hash"), without("0x9", "transactions"), tall("0x8")},
			func(c *evm.Chain) (any, error) {
				return c.Inclusions(t.Context(), chain.Block{Number: 9, Hash: at9}, []chain.Account{a})
			}, false},
	} {
		for i, says := range c.says {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				t.Parallel()
				l := &liar{about: c.about, says: says, lies: c.fresh}
				driver := open(t, evm.Config{ChainID: 1337, Depth: 1, URL: serve(t, l.say)})
				if !c.fresh {
					if _, err := driver.Describe(t.Context()); err != nil {
						t.Fatal(err)
					}
					l.lie(true)
				}
				got, err := c.ask(driver)
				if !errors.Is(err, chain.ErrUnreachable) && !errors.Is(err, chain.ErrAnswer) && !errors.Is(err, chain.ErrThread) {
					t.Errorf("the node says %v: got %+v, %v, want an error of the endpoint", says, got, err)
				}
				l.lie(false)
				if got, err := c.ask(driver); err != nil {
					t.Errorf("the node says the truth: got %+v, %v, want no error", got, err)
				}
			})
		}
	}
}

func (l *liar) lie(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lies = yes
}

// A node that has just started has null for a head. Taken for a gas limit of 0, it would reject all.
func TestANullHeadRejectsNothing(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	l := &liar{about: "latest", lies: true}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, l.say), Signers: []evm.Signer{own}})
	drafts := []chain.Draft{{Account: own.Account(), Call: chain.Call{To: []byte(own.Account()), Gas: 50_000}}}
	if all, err := c.Prepare(t.Context(), drafts); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("the head is null: got %+v, %v, want %v", all, err, chain.ErrUnreachable)
	}
	l.lie(false)
	if all, err := c.Prepare(t.Context(), drafts); err != nil || all[0].Err != nil {
		t.Errorf("the head is a block: got %+v, %v, want no error", all, err)
	}
}

// A missing nonce must not be taken for 0.
func TestATransactionWithoutANonce(t *testing.T) {
	t.Parallel()
	says := tall("0x9")
	says["transactions"] = []any{map[string]any{"hash": counted, "from": sender}}
	at := chain.Hash(says["hash"].(hexutil.Bytes))
	l := &liar{about: hexutil.Encode([]byte(at)), says: says, lies: true}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, l.say)})
	_, err := c.Inclusions(t.Context(), chain.Block{Number: 9, Hash: at}, []chain.Account{chain.Account(sender)})
	wraps(t, err, chain.ErrAnswer)
}

// W2: what is in a block is read by its hash, and has to agree with the head about the height: a search for a nonce
// would begin at a false one.
func TestAHeadOfAFalseHeight(t *testing.T) {
	t.Parallel()
	says := tall("0x9")
	says["transactions"] = []any{}
	at := chain.Hash(says["hash"].(hexutil.Bytes))
	l := &liar{about: hexutil.Encode([]byte(at)), says: says, lies: true}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, l.say)})
	if _, err := c.Inclusions(t.Context(), chain.Block{Number: 9, Hash: at}, nil); err != nil {
		t.Error(err)
	}
	_, err := c.Inclusions(t.Context(), chain.Block{Number: 9_000_009, Hash: at}, nil)
	wraps(t, err, chain.ErrAnswer)
}

// A block without a list of transactions is not an empty block, even if there are no receipts.
func TestABlockWithoutAList(t *testing.T) {
	t.Parallel()
	n := &full{asked: map[string]int{}}
	driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say)})
	hash := named(1)
	send(t, driver, []chain.Signed{{Account: chain.Account(sender), Hash: chain.Hash(hash[:]), Bytes: hash[:]}, {Hash: "another", Bytes: []byte("another")}}, chain.Accepted)
	n.block(1, 1)
	ours, err := driver.Inclusions(t.Context(), chain.Block{Hash: "b"}, []chain.Account{chain.Account(sender)})
	if err != nil || len(ours) != 1 {
		t.Fatal(ours, err)
	}
	n.hashes, n.receipts = nil, []any{errors.New("the method does not exist")}
	ours, err = driver.Inclusions(t.Context(), chain.Block{Hash: "c"}, []chain.Account{chain.Account(sender)})
	if !errors.Is(err, chain.ErrAnswer) || n.asked["debug_getRawReceipts"] != 1 {
		t.Errorf("got %+v, %v after the calls %v, want %v after one for binary receipts", ours, err, n.asked, chain.ErrAnswer)
	}
}
