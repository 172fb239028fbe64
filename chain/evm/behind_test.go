package evm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// W1: a reader is far behind a chain that moves on, and the endpoint shows no block by its number, and lacks one of thirty that it is asked
// for by their hashes. Each look goes on where the one before got: else none would ever come to the end.
func TestAReaderFarBehindCatchesUp(t *testing.T) {
	t.Parallel()
	const low, begin = 10, 400
	var looks, asked atomic.Uint64
	whole := growing()
	c := open(t, evm.Config{ChainID: 1337, Poll: time.Millisecond, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch {
		case method == "eth_getBlockByNumber" && string(params[0]) == `"latest"`:
			return whole("eth_getBlockByHash", []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", heightHash(begin+2*looks.Add(1)).String()))})
		case method == "eth_getBlockByNumber" && string(params[0]) != `"finalized"`:
			return nil
		case method == "eth_getBlockByHash" && asked.Add(1)%30 == 0:
			return nil
		}
		return whole(method, params)
	})})
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for turn, err := range c.Heads(ctx, chain.Block{Number: low, Hash: chain.Hash(heightHash(low)), Parent: chain.Hash(heightHash(low - 1))}) {
		if err != nil {
			t.Fatalf("after %d looks, and %d blocks that were asked for: %v", looks.Load(), asked.Load(), err)
		}
		if turn.Block.Number > begin {
			break
		}
	}
}

// W1: the final block is far below, and the endpoint is so slow that no request of many headers is answered while a look waits for it. Smaller
// ones are then made: else each look would ask for the same headers again, for ever.
func TestAFinalBlockOfASlowEndpoint(t *testing.T) {
	t.Parallel()
	const head, low, most = 300, 180, 8
	whole := growing()
	byNumber := func(n uint64) any {
		return whole("eth_getBlockByHash", []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", heightHash(n).String()))})
	}
	c := open(t, evm.Config{ChainID: 1337, Poll: time.Millisecond, URL: serveSmall(t, most, func(method string, params []json.RawMessage) any {
		var n hexutil.Uint64
		switch {
		case method != "eth_getBlockByNumber":
			return whole(method, params)
		case string(params[0]) == `"latest"`:
			n = head
		case string(params[0]) == `"finalized"`:
			n = low
		default:
			_ = json.Unmarshal(params[0], &n)
		}
		return byNumber(uint64(n))
	})})
	evm.SetLinkPatience(c, 100*time.Millisecond)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Finalized {
			break
		}
	}
}
