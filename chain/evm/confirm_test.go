package evm_test

import (
	"encoding/json"
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

// claimOf is a claim of another endpoint.
func claimOf(dead bool, n uint64) chain.Claim {
	return chain.Claim{By: "other", Placed: chain.Placed{
		Block:     chain.Block{Number: n, Hash: chain.Hash(branchBlock(dead, n))},
		Inclusion: chain.Inclusion{Hash: chain.Hash(branchBlock(dead, n+1000))},
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
