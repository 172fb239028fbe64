package evm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// W14: about a nonce alone the endpoint is asked for the count as of the claim's block, by its hash, which
// need not be final. What it cannot say is no contradiction, and its own claim it judges later.
func TestAConsumedNonce(t *testing.T) {
	t.Parallel()
	about := claimOf(false, 4)
	about.Account, about.Index, about.Hash, about.Counts = chain.Account(make([]byte, 20)), 7, "", true
	own := about
	own.By, own.At = "", chain.Block{Number: 2} // the final block is still 2
	moved := own
	moved.At.Number = 1
	for name, c := range map[string]struct {
		answer any
		claim  chain.Claim
		want   string
	}{
		"used":           {answer: hexutil.Uint64(8), claim: about, want: "agrees"},
		"not used":       {answer: hexutil.Uint64(7), claim: about, want: "differs"},
		"it cannot say":  {answer: errors.New("invalid argument 1: hex string without 0x prefix"), claim: about, want: "mute"},
		"nothing":        {claim: about, want: "mute"},
		"no number":      {answer: "0xffffffffffffffffffff", claim: about, want: "mute"},
		"own, not moved": {answer: hexutil.Uint64(8), claim: own, want: "mute"},
		"own, has moved": {answer: hexutil.Uint64(8), claim: moved, want: "agrees"},
		"one of two":     {answer: hexutil.Uint64(8), claim: about, want: "agrees agrees"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := &twoBranches{head: 4}, ""
			conn := open(t, evm.Config{ChainID: 1337, Depth: 2, URL: serve(t, func(method string, params []json.RawMessage) any {
				if method != "eth_getTransactionCount" {
					return w.say(method, params)
				}
				asked = string(params[1])
				return c.answer
			})})
			claims := []chain.Claim{c.claim}
			if strings.Contains(c.want, " ") {
				claims = append(claims, claimOf(false, 1))
			}
			if got := stands(t, conn, claims...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if want := `{"blockHash":"` + hexutil.Encode([]byte(about.Block.Hash)) + `"}`; c.want != "mute" && asked != want {
				t.Errorf("the count was asked for as of %s, want %s", asked, want)
			}
		})
	}
}

// Where some backends lack a block, receipts that are missing are asked for again, and those that came are not.
func TestMissingReceiptsAreAskedForAgain(t *testing.T) {
	t.Parallel()
	const many = 40
	var mu sync.Mutex
	asked := map[string]int{}
	w := &twoBranches{head: 9}
	c := open(t, evm.Config{ChainID: 1337, Depth: 2, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch method {
		case "eth_getTransactionByHash":
			return map[string]any{"blockHash": branchBlock(false, 3), "blockNumber": "0x3"}
		case "eth_getTransactionReceipt":
			mu.Lock()
			defer mu.Unlock()
			hash := string(params[0])
			if asked[hash]++; asked[hash] == 1 && len(asked)%3 == 0 {
				return nil
			}
			return map[string]any{"transactionHash": json.RawMessage(hash), "blockHash": branchBlock(false, 3), "status": "0x1"}
		}
		return w.say(method, params)
	})})
	var hashes []chain.Hash
	for i := range uint64(many) {
		hashes = append(hashes, chain.Hash(branchBlock(true, 1000+i)))
	}
	seen, err := c.Probe(t.Context(), hashes)
	if err != nil || len(seen) != many || !seen[many-1].Included() {
		t.Fatalf("got %v, %v, want all of them included", seen, err)
	}
	mu.Lock()
	defer mu.Unlock()
	calls := 0
	for _, n := range asked {
		calls += n
	}
	if calls != many+many/3 {
		t.Errorf("%d receipts were asked for, want %d, and again the %d that were missing", calls, many, many/3)
	}
}
