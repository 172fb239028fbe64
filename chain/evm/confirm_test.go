package evm_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// twoBranches is an endpoint with backends on two branches that part after block 0. The head is of the
// surviving one; what is asked for by number comes from the dead one, where it has a block.
type twoBranches struct {
	mu        sync.Mutex
	head      uint64
	dead      uint64 // blocks of the dead branch
	final     uint64 // the tag "finalized", of the dead branch; 0: an error
	bent      bool   // the next answer that has block 2 names the dead block 1 as its parent
	byNumbers int    // calls by number
}

func branchBlock(dead bool, n uint64) hexutil.Bytes {
	h := new(big.Int).SetUint64(n).FillBytes(make([]byte, 32))
	if dead && n > 0 {
		h[0] = 1
	}
	return h
}

func (w *twoBranches) block(dead bool, n uint64) map[string]any {
	parent := branchBlock(dead, max(n, 1)-1)
	if n == 2 && !dead && w.bent {
		w.bent, parent = false, branchBlock(true, 1)
	}
	return map[string]any{
		"number": hexutil.Uint64(n), "hash": branchBlock(dead, n), "parentHash": parent,
		"gasLimit": "0x1c9c380", "baseFeePerGas": "0x7", "transactions": []hexutil.Bytes{branchBlock(dead, n+1000)},
	}
}

func (w *twoBranches) say(method string, params []json.RawMessage) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case method == "eth_getBlockByHash":
		var hash hexutil.Bytes
		_ = json.Unmarshal(params[0], &hash)
		dead := hash[0] == 1
		hash[0] = 0
		return w.block(dead, new(big.Int).SetBytes(hash).Uint64())
	case method == "eth_getTransactionReceipt":
		var hash hexutil.Bytes
		_ = json.Unmarshal(params[0], &hash)
		dead := hash[0] == 1
		hash[0] = 0
		return receiptIn(branchBlock(dead, new(big.Int).SetBytes(hash).Uint64()-1000), params[0], "0x1")
	case method != "eth_getBlockByNumber":
		return healthy(method, params)
	case string(params[0]) == `"latest"`:
		return w.block(false, w.head)
	case string(params[0]) == `"finalized"`:
		if w.final == 0 {
			return nil
		}
		return w.block(true, w.final)
	}
	var n hexutil.Uint64
	_ = json.Unmarshal(params[0], &n)
	w.byNumbers++
	if uint64(n) > w.head {
		return nil
	}
	return w.block(uint64(n) <= w.dead, uint64(n))
}

// receiptIn is the receipt of a transaction in a block; empty: it has no status.
func receiptIn(block, hash any, status string) map[string]any {
	r := map[string]any{"transactionHash": hash, "blockHash": block}
	if status != "" {
		r["status"] = status
	}
	return r
}

// claimOf is a claim of another endpoint.
func claimOf(dead bool, n uint64) chain.Claim {
	return chain.Claim{By: "other", Inclusion: chain.Inclusion{
		Hash: chain.Hash(branchBlock(dead, n+1000)), Block: chain.Block{Number: n, Hash: chain.Hash(branchBlock(dead, n))}, Effect: chain.EffectOf(false),
	}}
}

func stands(t *testing.T, c *evm.Chain, claims ...chain.Claim) string {
	t.Helper()
	opinions, err := c.Confirm(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, o := range opinions {
		said = append(said, o.Stand.String())
	}
	return strings.Join(said, " ")
}

// W1: the final block is an ancestor of the head that its depth is counted from. They are two answers, of
// two backends perhaps, and a block of a dead branch is not final because another branch has grown.
func TestAFinalBlockIsAnAncestorOfTheHead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    *twoBranches
		cfg  evm.Config
		want string // about block 1 of the dead branch, and of the surviving one
	}{
		"at a depth":          {w: &twoBranches{head: 4, dead: 2}, cfg: evm.Config{Depth: 2}, want: "differs agrees"},
		"by the tag":          {w: &twoBranches{head: 5, dead: 2, final: 2}, want: "mute mute"},
		"by the tag, min":     {w: &twoBranches{head: 3, dead: 2, final: 2}, want: "mute mute"},
		"at once":             {w: &twoBranches{head: 4, dead: 2}, cfg: evm.Config{Instant: true}, want: "differs agrees"},
		"nothing is final":    {w: &twoBranches{head: 5, dead: 2}, want: "mute mute"},
		"the head is too low": {w: &twoBranches{head: 2, dead: 2}, cfg: evm.Config{Depth: 2}, want: "mute mute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.cfg.ChainID, c.cfg.URL = 1337, serve(t, c.w.say)
			if got := stands(t, open(t, c.cfg), claimOf(true, 1), claimOf(false, 1)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// W2: about its own claim an endpoint is asked once its final block has passed that as of which it made it. If the head
// stands, that block itself will do, but none below: the block and what is in it are asked for anew, by hash.
func TestASecondLookAtTheSameBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by    string // "own": the endpoint's
		at    uint64
		still bool
		want  string
	}{
		"another's claim":            {"other", 4, false, "agrees"},
		"its own, of an older block": {"own", 3, false, "agrees"},
		"its own":                    {"own", 4, false, "mute"},
		"of no name":                 {"", 4, false, "mute"},
		"its own, and it stands":     {"own", 4, true, "agrees"},
		"of no name, and it stands":  {"", 4, true, "agrees"},
		"it has gone back":           {"own", 5, true, "mute"},
	} {
		w := &twoBranches{head: 4}
		endpoint := open(t, evm.Config{ChainID: 1337, Instant: true, URL: serve(t, w.say)})
		claim := claimOf(false, 4)
		if claim.By, claim.At.Number, claim.Still = c.by, c.at, c.still; c.by == "own" {
			d, err := endpoint.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			claim.By = d.By
		}
		if got := stands(t, endpoint, claim); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// W2: a second witness says that it has the transaction in that block, by its own list of what is in it, and what became of the call by
// its own receipt from there: one answer alone decides neither. What it does not return is no contradiction.
func TestWhatASecondWitnessReads(t *testing.T) {
	t.Parallel()
	claim, failed, empty, above := claimOf(false, 4), claimOf(false, 4), claimOf(false, 4), claimOf(false, 5)
	failed.Effect, empty.Hash = chain.EffectOf(true), ""
	receipt := func(block uint64, status string) map[string]any {
		return receiptIn(branchBlock(false, block), branchBlock(false, 1004), status)
	}
	block := func(hash uint64, in any) map[string]any {
		return map[string]any{"number": "0x4", "hash": branchBlock(false, hash), "parentHash": branchBlock(false, 3), "transactions": in}
	}
	other := receiptIn(branchBlock(false, 4), branchBlock(false, 7), "0x1")
	has, lacks := []hexutil.Bytes{branchBlock(false, 1004)}, []hexutil.Bytes{branchBlock(false, 7)}
	indexing := errors.New("transaction indexing is in progress")
	for name, c := range map[string]struct {
		claim                 chain.Claim
		block, receipt, whole any // whole: all receipts of the block
		want                  string
	}{
		"it is there":                   {claim, block(4, has), receipt(4, "0x1"), nil, "agrees"},
		"it is not":                     {claim, block(4, lacks), receipt(4, "0x1"), nil, "differs"},
		"the block is empty":            {claim, block(4, []hexutil.Bytes{}), nil, nil, "differs"},
		"no block":                      {claim, nil, receipt(4, "0x1"), nil, "mute"},
		"another block":                 {claim, block(9, has), receipt(4, "0x1"), nil, "mute"},
		"a block without a list":        {claim, block(4, nil), receipt(4, "0x1"), nil, "mute"},
		"the block alone is claimed":    {empty, nil, nil, nil, "agrees"},
		"above its final block":         {above, block(5, has), receipt(5, "0x1"), nil, "mute"},
		"it has failed":                 {failed, block(4, has), receipt(4, "0x0"), nil, "agrees"},
		"it has not":                    {failed, block(4, has), receipt(4, "0x1"), nil, "differs"},
		"it is said not to have failed": {claim, block(4, has), receipt(4, "0x0"), nil, "differs"},
		"no receipt":                    {claim, block(4, has), nil, nil, "mute"},
		"of a failed one":               {failed, block(4, has), nil, nil, "mute"},
		"a receipt without a status":    {claim, block(4, has), receipt(4, ""), nil, "mute"},
		"a receipt of another block":    {claim, block(4, has), receipt(9, "0x1"), nil, "mute"},
		"a receipt of another":          {claim, block(4, has), other, nil, "mute"},
		"failed, and it is not there":   {failed, block(4, lacks), receipt(4, "0x0"), nil, "differs"},
		"no index":                      {claim, block(4, has), nil, []any{other, receipt(4, "0x1")}, "agrees"},
		"no index, and it has failed":   {claim, block(4, has), nil, []any{other, receipt(4, "0x0")}, "differs"},
		"it makes its index":            {failed, block(4, has), indexing, []any{receipt(4, "0x0")}, "agrees"},
		"all of another block":          {claim, block(4, has), nil, []any{receipt(9, "0x1")}, "mute"},
		"all, and it is not there":      {claim, block(4, has), nil, []any{nil, other}, "mute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &twoBranches{head: 4}
			endpoint := open(t, evm.Config{ChainID: 1337, Instant: true, URL: serve(t, func(method string, params []json.RawMessage) any {
				switch method {
				case "eth_getBlockByHash":
					return c.block
				case "eth_getTransactionReceipt":
					return c.receipt
				case "eth_getBlockReceipts":
					return c.whole
				}
				return w.say(method, params)
			})})
			if got := stands(t, endpoint, c.claim); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// W2, W9: what a second opinion about transactions of one block asks for: the block once, and a receipt each, or all of the block's at once if
// they are many. A node that does not have them at once gives each.
func TestWhatASecondOpinionAsksFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims int
		whole  bool // it has the receipts of a block
		want   map[string]int
	}{
		"one":                       {1, true, map[string]int{"eth_getTransactionReceipt": 1}},
		"few":                       {chain.ReceiptsApart - 1, true, map[string]int{"eth_getTransactionReceipt": chain.ReceiptsApart - 1}},
		"many":                      {chain.ReceiptsApart, true, map[string]int{"eth_getBlockReceipts": 1}},
		"hundreds":                  {400, true, map[string]int{"eth_getBlockReceipts": 1}},
		"hundreds, and not at once": {400, false, map[string]int{"eth_getBlockReceipts": 1, "eth_getTransactionReceipt": 400}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked := map[string]int{}
			at := claimOf(false, 4).Block
			var claims []chain.Claim
			var listed []hexutil.Bytes
			var receipts []any
			for i := range c.claims {
				one := claimOf(false, uint64(i))
				one.Block = at
				claims, listed = append(claims, one), append(listed, hexutil.Bytes(one.Hash))
				receipts = append(receipts, receiptIn(hexutil.Bytes(at.Hash), hexutil.Bytes(one.Hash), "0x1"))
			}
			w := &twoBranches{head: 4}
			endpoint := open(t, evm.Config{ChainID: 1337, Instant: true, URL: serve(t, func(method string, params []json.RawMessage) any {
				mu.Lock()
				defer mu.Unlock()
				asked[method]++
				switch method {
				case "eth_getBlockByHash":
					return map[string]any{"number": "0x4", "hash": hexutil.Bytes(at.Hash), "parentHash": branchBlock(false, 3), "transactions": listed}
				case "eth_getTransactionReceipt":
					return receiptIn(hexutil.Bytes(at.Hash), params[0], "0x1")
				case "eth_getBlockReceipts":
					if c.whole {
						return receipts
					}
					return fault{-32601, "the method eth_getBlockReceipts does not exist"}
				}
				return w.say(method, params)
			})})
			if got := stands(t, endpoint, claims...); strings.Count(got, "agrees") != c.claims {
				t.Fatalf("got %s, want that it agrees to all %d", got, c.claims)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, method := range []string{"eth_getTransactionReceipt", "eth_getBlockReceipts"} {
				if asked[method] != c.want[method] {
					t.Errorf("%s was asked for %d times, want %d", method, asked[method], c.want[method])
				}
			}
			if asked["eth_getBlockByHash"] != 1 {
				t.Errorf("the block was asked for %d times, want once", asked["eth_getBlockByHash"])
			}
		})
	}
}

// For how long a head has to stand until time counts in the place of blocks.
func TestStillAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  evm.Config
		want time.Duration
	}{
		"final at once":    {evm.Config{Instant: true}, 2 * time.Second},
		"final at a depth": {evm.Config{Depth: 3}, time.Minute},
		"final by the tag": {evm.Config{}, 0},
		"as configured":    {evm.Config{StillAfter: time.Hour}, time.Hour},
		"never":            {evm.Config{Instant: true, StillAfter: -1}, 0},
	} {
		w := &twoBranches{head: 4}
		c.cfg.ChainID, c.cfg.URL = 1337, serve(t, w.say)
		d, err := open(t, c.cfg).Describe(t.Context())
		if err != nil || d.StillAfter != c.want {
			t.Errorf("%s: got %v, %v, want %v", name, d.StillAfter, err, c.want)
		}
	}
}

// W2: hashes that deny a block are asked anew the next time. A single one that is wrong would contradict
// for ever.
func TestHashesThatDenyAreAskedAnew(t *testing.T) {
	t.Parallel()
	w := &twoBranches{head: 6, bent: true}
	c := open(t, evm.Config{ChainID: 1337, Depth: 2, URL: serve(t, w.say)})
	if got := stands(t, c, claimOf(false, 1)); got == "agrees" {
		t.Fatalf("got %s although a false hash leads elsewhere", got)
	}
	if got := stands(t, c, claimOf(false, 1)); got != "agrees" {
		t.Errorf("asked again: got %s, want agrees", got)
	}
	linked, err := c.Linked(t.Context(), claimOf(false, 6).Block, []chain.Block{claimOf(false, 1).Block})
	if err != nil || !linked[0] {
		t.Errorf("got %v, %v, want block 1 linked", linked, err)
	}
}

// W2: what denies a block is asked anew once a minute at most: a dead branch's blocks are denied rightly, and
// there may be tens of thousands of headers.
func TestDenialsAskAnewOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if got, want := evm.Denials(func() { time.Sleep(time.Minute) }), [3]bool{true, false, true}; got != want {
			t.Errorf("dropped: %v, want %v", got, want)
		}
	})
}

// A second opinion after a long time links no more than it needs: there may have been more blocks since the
// last one than are kept.
func TestAnOpinionAfterALongTime(t *testing.T) {
	t.Parallel()
	w := &twoBranches{head: 10}
	c := open(t, evm.Config{ChainID: 1337, Depth: 2, URL: serve(t, w.say)})
	if got := stands(t, c, claimOf(false, 1)); got != "agrees" {
		t.Fatalf("got %s, want agrees", got)
	}
	w.mu.Lock()
	w.head, w.byNumbers = 70_000, 0
	w.mu.Unlock()
	if got := stands(t, c, claimOf(false, 69_990)); got != "agrees" {
		t.Errorf("60,000 blocks later: got %s, want agrees", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byNumbers > 20 {
		t.Errorf("%d blocks were asked for, want those from the claim's to the head", w.byNumbers)
	}
}
