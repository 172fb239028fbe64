package evm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// tower is a node without the tag "finalized". It has each head for some looks.
type tower struct {
	mu    sync.Mutex
	heads []head
	hides uint64 // number of a block that it does not return
	looks int
	stay  int            // for how many looks a head stays
	asked map[uint64]int // calls for each block number
}

// head is a height. From the height fork on its blocks are of another branch; 0: none are.
type head struct{ height, fork uint64 }

func (w *tower) head() head { return w.heads[min(w.looks/w.stay, len(w.heads)-1)] }

func (w *tower) say(method string, params []json.RawMessage) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.head()
	switch {
	case method == "eth_getBlockByHash":
		var hash hexutil.Bytes
		_ = json.Unmarshal(params[0], &hash)
		if n := new(big.Int).SetBytes(hash[1:]).Uint64() - 1; hash[0] == 0 {
			return block(n, head{height: now.height})
		}
		return nil // the driver never walks back on the other branch
	case method != "eth_getBlockByNumber":
		return healthy(method, params)
	case string(params[0]) == `"latest"`:
		w.looks++
		return block(now.height, now)
	}
	var n hexutil.Uint64
	if json.Unmarshal(params[0], &n) != nil {
		return fmt.Errorf("invalid block tag %s", params[0])
	}
	if w.asked[uint64(n)]++; uint64(n) > now.height || uint64(n) == w.hides {
		return nil
	}
	return block(uint64(n), now)
}

func block(n uint64, on head) map[string]any {
	hash := func(height uint64) hexutil.Bytes {
		h := new(big.Int).SetUint64(height + 1).FillBytes(make([]byte, 32))
		if on.fork > 0 && height >= on.fork {
			h[0] = 1
		}
		return h
	}
	return map[string]any{
		"number": hexutil.Uint64(n), "hash": hash(n), "parentHash": hash(n - 1), "gasLimit": "0x1c9c380", "baseFeePerGas": "0x7",
	}
}

// A new follower gets the block at the depth of finality at once. Otherwise it would never get one
// over a connection that breaks before as many blocks have come.
func TestFinalByDepthFromTheBeginning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heads []head
		hides uint64
		stay  int
		want  string
	}{
		"at once":               {heads: []head{{height: 1000}}, want: "+1000 =988"},
		"with each head":        {heads: []head{{height: 1000}, {height: 1001}, {height: 1002}}, want: "+1000 =988 +1001 =989 +1002 =990"},
		"after many blocks":     {heads: []head{{height: 1000}, {height: 1013}}, want: "+1000 =988 " + rising(1001, 1013) + "=1001"},
		"a sibling of the head": {heads: []head{{height: 1000}, {1000, 1000}, {1001, 1000}}, want: "+1000 =988 -1000 +1000' +1001' =989"},
		"the head goes back":    {heads: []head{{height: 1000}, {height: 999}, {height: 1001}}, want: "+1000 =988 -1000 +1000 +1001 =989"},
		"a backend is behind":   {heads: []head{{height: 1000}, {height: 999}, {height: 1001}}, stay: ancestry.MaxLower - 1, want: "+1000 =988 +1001 =989"},
		"below the depth":       {heads: []head{{height: 11}, {height: 13}}, want: "+11 +12 +13 =1"},
		"a block not returned":  {heads: []head{{height: 1000}, {height: 1001}}, hides: 988, want: "+1000 +1001 =989"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &tower{heads: c.heads, hides: c.hides, stay: cmp.Or(c.stay, ancestry.MaxLower+2), asked: map[uint64]int{}} // more than one, to see that nothing is asked twice
			got := turns(t, open(t, evm.Config{ChainID: 1337, Depth: 12, URL: serve(t, w.say)}), len(strings.Fields(c.want)))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for n, times := range w.asked {
				if times > len(c.heads) && n != c.hides {
					t.Errorf("block %d was asked for %d times, want once for each of %d heads at most", n, times, len(c.heads))
				}
			}
		})
	}
}

// The blocks below a head far above the last one are asked for in one go only if its parent is there: a backend that names a false
// height once would cost a call for each of thousands of blocks.
func TestAFalseHeightCostsFewCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next        []head // after 1000
		want        string
		least, most int // calls by number
	}{
		"false": {next: []head{{1_000_000, 999_000}, {height: 1001}}, want: "+1000 =988 +1001 =989", most: 16},
		"true":  {next: []head{{height: 1200}}, want: "+1000 =988 " + rising(1001, 1200) + "=1188", least: 199, most: 220},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heads := slices.Concat(slices.Repeat([]head{{height: 1000}}, 6), c.next) // some looks come before the first turn
			w := &tower{heads: heads, stay: 1, asked: map[uint64]int{}}
			got := turns(t, open(t, evm.Config{ChainID: 1337, Depth: 12, URL: serve(t, w.say)}), len(strings.Fields(c.want)))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			calls := 0
			for _, times := range w.asked {
				calls += times
			}
			if calls < c.least || calls > c.most {
				t.Errorf("%d calls for blocks by their number, want %d to %d", calls, c.least, c.most)
			}
		})
	}
}

func rising(from, to int) (said string) {
	for n := from; n <= to; n++ {
		said += fmt.Sprintf("+%d ", n)
	}
	return said
}

// turns writes the first count turns; a block of the other branch has a prime.
func turns(t *testing.T, c *evm.Chain, count int) string {
	t.Helper()
	var said []string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil {
			t.Fatalf("%v after %s", err, strings.Join(said, " "))
		}
		one := fmt.Sprintf("%s%d", map[chain.TurnKind]string{chain.Applied: "+", chain.Reverted: "-", chain.Finalized: "="}[turn.Kind], turn.Block.Number)
		if turn.Block.Hash[0] == 1 {
			one += "'"
		}
		if said = append(said, one); len(said) == count {
			break
		}
	}
	return strings.Join(said, " ")
}
