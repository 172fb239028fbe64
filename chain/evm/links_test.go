package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

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
