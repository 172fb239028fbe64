package evm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// A node whose head went back may still name the old block of a transaction, as go-ethereum does
// after kill -9 until a reorganisation empties its cache. Only blocks of the chain count.
func TestABlockThatIsNotInTheChain(t *testing.T) {
	t.Parallel()
	right, gone := make(hexutil.Bytes, 32), hexutil.Bytes(strings.Repeat("x", 32))
	placed := func(hash hexutil.Bytes, number string) any {
		return map[string]any{"blockHash": hash, "blockNumber": number}
	}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch {
		case method == "eth_getTransactionByHash":
			var hash hexutil.Bytes
			_ = json.Unmarshal(params[0], &hash)
			return map[string]any{
				"in": placed(right, "0x0"), "gone": placed(gone, "0x0"), "ahead": placed(gone, "0x9"),
				"pooled": map[string]any{"blockHash": nil, "blockNumber": nil}, "nowhere": nil,
			}[string(hash)]
		case method == "eth_getTransactionReceipt" && string(params[0]) == `"0x696e"`: // in
			return map[string]any{"transactionHash": make(hexutil.Bytes, 32), "blockHash": right, "status": "0x0"}
		case method == "eth_getBlockByNumber" && string(params[0]) == `"0x9"`:
			return nil
		}
		return healthy(method, params)
	})})
	hashes := []chain.Hash{"in", "gone", "ahead", "pooled", "nowhere"}
	seen, err := c.Probe(t.Context(), hashes)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"included", "nowhere", "nowhere", "pooled", "nowhere"} {
		if seen[i].String() != want || seen[i].Effect.Failed() != (want == "included") {
			t.Errorf("%s: got %+v, want %v", hashes[i], seen[i], want)
		}
	}
}

// Only a receipt of the same block says whether a call failed. Without one Probe fails.
func TestAReceiptOfAnotherBlock(t *testing.T) {
	t.Parallel()
	right, other := make(hexutil.Bytes, 32), hexutil.Bytes(strings.Repeat("x", 32))
	for name, c := range map[string]struct {
		receipt any
		want    error
	}{
		"of that block":    {map[string]any{"transactionHash": right, "blockHash": right, "status": "0x1"}, nil},
		"of another block": {map[string]any{"transactionHash": right, "blockHash": other, "status": "0x1"}, chain.ErrNotFound},
		"of no block":      {map[string]any{"transactionHash": right, "blockHash": nil, "status": "0x1"}, chain.ErrNotFound},
		"without a status": {map[string]any{"transactionHash": right, "blockHash": right, "root": right}, chain.ErrNotFound},
		"none":             {nil, chain.ErrNotFound},
		"no answer":        {errNoAnswer, chain.ErrUnreachable},
	} {
		driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
			switch method {
			case "eth_getTransactionByHash":
				return map[string]any{"blockHash": right, "blockNumber": "0x0"}
			case "eth_getTransactionReceipt":
				return c.receipt
			}
			return healthy(method, params)
		})})
		seen, err := driver.Probe(t.Context(), []chain.Hash{chain.Hash(right)})
		if !errors.Is(err, c.want) || (err == nil) != (len(seen) == 1) {
			t.Errorf("%s: got %+v, %v, want %v", name, seen, err, c.want)
		}
	}
}
