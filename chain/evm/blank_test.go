package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// W1: where every third answer comes from a backend that lacks the block, a line of hundreds of blocks is found in
// pieces. It would never be found at once: with each block it would become less likely.
func TestALineIsFoundInPieces(t *testing.T) {
	t.Parallel()
	const head, low = 700, 10
	whole := growing()
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(7, 7))
	asked := 0
	answer := func(method string, params []json.RawMessage) any {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case method == "eth_getBlockByNumber" && string(params[0]) != `"latest"`:
			var n hexutil.Uint64
			if json.Unmarshal(params[0], &n) != nil {
				return nil
			}
			params = []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", heightHash(uint64(n)).String()))}
			fallthrough
		case method == "eth_getBlockByHash":
			if asked++; chance.IntN(3) == 0 {
				return nil
			}
			return whole("eth_getBlockByHash", params)
		}
		return whole(method, params)
	}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, answer)})
	of := chain.Block{Number: head, Hash: chain.Hash(heightHash(head))}
	blocks := []chain.Block{{Number: low, Hash: chain.Hash(heightHash(low))}, {Number: low, Hash: chain.Hash(heightHash(low + 1))}}
	for try := 1; ; try++ {
		linked, err := c.Linked(t.Context(), of, blocks)
		if err == nil {
			if !linked[0] || linked[1] {
				t.Errorf("got %v, want that the first block is linked and the second is not", linked)
			}
			break
		}
		if try == 20 {
			t.Fatalf("after %d tries: %v", try, err)
		}
	}
	if mu.Lock(); asked > 4*head {
		t.Errorf("%d blocks were asked for, to link %d", asked, head-low)
	}
	mu.Unlock()
}

// W2: a header that names a wrong parent is asked for anew, each time, and no others are.
func TestAWrongParentIsAskedAnew(t *testing.T) {
	t.Parallel()
	const head, low = 300, 10
	whole := growing()
	var mu sync.Mutex
	bent := map[string]bool{heightHash(200).String(): true, heightHash(100).String(): true, heightHash(50).String(): true}
	asked := 0
	answer := func(method string, params []json.RawMessage) any {
		mu.Lock()
		defer mu.Unlock()
		var n hexutil.Uint64
		if method == "eth_getBlockByNumber" && json.Unmarshal(params[0], &n) == nil {
			method, params = "eth_getBlockByHash", []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", heightHash(uint64(n)).String()))}
		}
		got := whole(method, params)
		if b, is := got.(map[string]any); is && method == "eth_getBlockByHash" {
			asked++
			if hash := fmt.Sprint(b["hash"]); bent[hash] {
				delete(bent, hash)
				b["parentHash"] = heightHash(1 << 40)
			}
		}
		return got
	}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, answer)})
	of := chain.Block{Number: head, Hash: chain.Hash(heightHash(head))}
	for try := 1; ; try++ {
		linked, err := c.Linked(t.Context(), of, []chain.Block{{Number: low, Hash: chain.Hash(heightHash(low))}})
		if err == nil && linked[0] {
			break
		}
		if try == 4 {
			t.Fatalf("after %d tries, with three wrong headers: %v, %v", try, linked, err)
		}
	}
	if mu.Lock(); asked > 2*head {
		t.Errorf("%d blocks were asked for, to link %d", asked, head-low)
	}
	mu.Unlock()
}

// W2: the first head of a stream is linked by nothing, so its block is asked for by its hash, and has to agree. A false
// height would be stored as that from which a search for a nonce begins.
func TestTheFirstHeadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, lies := range []bool{false, true} {
		w := &twoBranches{head: 9}
		c := open(t, evm.Config{ChainID: 1337, Depth: 2, URL: serve(t, func(method string, params []json.RawMessage) any {
			says := w.say(method, params)
			if b, is := says.(map[string]any); is && lies && method == "eth_getBlockByNumber" && string(params[0]) == `"latest"` {
				b["number"] = hexutil.Uint64(9_000_009)
			}
			return says
		})})
		for turn, err := range c.Heads(t.Context(), chain.Block{}) {
			if lies && !errors.Is(err, chain.ErrAnswer) || !lies && (err != nil || turn.Block.Number != 9) {
				t.Errorf("lies: %v: got %+v, %v", lies, turn, err)
			}
			break
		}
	}
}

// A line that another goroutine lengthens while it is denied is not kept.
func TestADeniedLineIsGone(t *testing.T) {
	t.Parallel()
	if evm.KeepsDenied() {
		t.Error("a line that was dropped for a denial is there again")
	}
}

// W1: where linking the final block takes longer than a look at the head, the next look goes on where it got.
func TestAFinalBlockFarBelow(t *testing.T) {
	t.Parallel()
	const head, low = 300, 180
	var asked atomic.Int64
	whole := growing()
	answer := func(method string, params []json.RawMessage) any {
		if method != "eth_getBlockByNumber" {
			return whole(method, params)
		}
		n := hexutil.Uint64(0)
		switch {
		case string(params[0]) == `"latest"`:
			n = head
		case string(params[0]) == `"finalized"`:
			n = low
		case json.Unmarshal(params[0], &n) == nil:
			asked.Add(1)
			<-time.After(25 * time.Millisecond)
		}
		return whole("eth_getBlockByHash", []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", heightHash(uint64(n)).String()))})
	}
	c := open(t, evm.Config{ChainID: 1337, Poll: 50 * time.Millisecond, MaxBatch: 1, URL: serve(t, answer)})
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil {
			t.Fatalf("%v; %d headers were asked for, of %d", err, asked.Load(), head-low)
		}
		if turn.Kind == chain.Finalized {
			break
		}
	}
	if n := asked.Load(); n > 2*(head-low) {
		t.Errorf("%d headers were asked for, of %d", n, head-low)
	}
}
