package evm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// A node that has gone back may still name the block that a transaction was in: only
// what is in the chain counts. (go-ethereum does, after kill -9, until a reorganization
// empties its cache.)
func TestABlockThatIsNotInTheChain(t *testing.T) {
	t.Parallel()
	right, gone := hexutil.Bytes(make([]byte, 32)), hexutil.Bytes(strings.Repeat("x", 32))
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
	for i, want := range []chain.Where{chain.Included, chain.Nowhere, chain.Nowhere, chain.Pooled, chain.Nowhere} {
		if seen[i].Where != want || want == chain.Nowhere && seen[i].Block.Hash != "" {
			t.Errorf("%s: %+v, want %v", hashes[i], seen[i], want)
		}
	}
}
