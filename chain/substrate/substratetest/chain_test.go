package substratetest_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/internal/trie"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

type header struct {
	ParentHash     string `json:"parentHash"`
	Number         string `json:"number"`
	StateRoot      string `json:"stateRoot"`
	ExtrinsicsRoot string `json:"extrinsicsRoot"`
	Digest         struct {
		Logs []string `json:"logs"`
	} `json:"digest"`
}

type signedBlock struct {
	Block struct {
		Header     header   `json:"header"`
		Extrinsics []string `json:"extrinsics"`
	} `json:"block"`
}

func raw(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	ok(t, err)
	return b
}

// hash computes what a header's hash is.
func (h header) hash(t testing.TB) string {
	t.Helper()
	number, err := strconv.ParseUint(h.Number, 0, 32)
	ok(t, err)
	b := scale.AppendCompact(raw(t, h.ParentHash), number)
	b = append(append(b, raw(t, h.StateRoot)...), raw(t, h.ExtrinsicsRoot)...)
	b = scale.AppendCompact(b, uint64(len(h.Digest.Logs)))
	for _, l := range h.Digest.Logs {
		b = append(b, raw(t, l)...)
	}
	sum := blake2b.Sum256(b)
	return hexOf(sum[:])
}

// proven reports whether a header proves the bodies (Z11).
func (b signedBlock) proven(t testing.TB) bool {
	t.Helper()
	var bodies [][]byte
	for _, text := range b.Block.Extrinsics {
		bodies = append(bodies, raw(t, text))
	}
	root := trie.OrderedRoot(trie.V0, bodies)
	return hexOf(root[:]) == b.Block.Header.ExtrinsicsRoot
}

// TestBlocksProveThemselves reads a chain as Z11 does: headers are hashed, bodies proven by the root, and each links to the next.
func TestBlocksProveThemselves(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	cfg := rich(alice)
	cfg.Archive = true
	node := start(t, cfg)
	c := dial(t, node.URL())
	for nonce := range uint64(3) {
		c.ask(nil, "author_submitExtrinsic", hexOf(alice.extrinsic(node, draft{nonce: nonce})))
		node.Mine()
	}
	want := c.text("chain_getBlockHash")
	for height := 3; height >= 0; height-- {
		if at := c.text("chain_getBlockHash", height); at != want {
			t.Fatalf("block %d is %s, want %s", height, at, want)
		}
		var b signedBlock
		c.ask(&b, "chain_getBlock", want)
		if b.Block.Header.hash(t) != want || !b.proven(t) {
			t.Fatalf("block %d does not prove itself: %+v", height, b)
		}
		var bodies []string
		c.ask(&bodies, "archive_v1_body", want)
		if fmt.Sprint(bodies) != fmt.Sprint(b.Block.Extrinsics) {
			t.Errorf("the archive has the bodies %v, want %v", bodies, b.Block.Extrinsics)
		}
		if sum := blake2b.Sum256(raw(t, c.text("archive_v1_header", want))); hexOf(sum[:]) != want {
			t.Errorf("the archive has the header of %x, want %s", sum, want)
		}
		want = b.Block.Header.ParentHash
	}
	genesis := node.Genesis()
	if c.text("chain_getBlockHash", 0) != hexOf(genesis[:]) || c.text("archive_v1_genesisHash") != hexOf(genesis[:]) {
		t.Error("the genesis is another one")
	}
	var all []*string
	c.ask(&all, "chain_getBlockHash", []any{0, "0x1", 9})
	if len(all) != 3 || all[0] == nil || *all[0] != hexOf(genesis[:]) || all[1] == nil || all[2] != nil {
		t.Errorf("a list of heights is answered with %v", all)
	}
	if got := c.text("chain_getHeader", hexOf(make([]byte, 32))); got != "" {
		t.Errorf("a block that nobody knows has the header %s", got)
	}
	if other := start(t, substratetest.Config{Name: "another"}); other.Genesis() == start(t, substratetest.Config{}).Genesis() {
		t.Error("two chains have one genesis")
	}
	node.Front().Lie(true)
	for _, method := range []string{"chain_getBlock", "archive_v1_body"} {
		var b signedBlock
		c.ask(&b, "chain_getBlock", c.text("chain_getBlockHash", 2))
		if method == "archive_v1_body" {
			c.ask(&b.Block.Extrinsics, method, c.text("chain_getBlockHash", 2))
		}
		if b.proven(t) {
			t.Errorf("%s lies about the bodies, and the root does not say so", method)
		}
	}
}

// TestFork follows a chain over a fork: the old branch is served by hash, and its extrinsics come back to the pool.
func TestFork(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	var heads, all string
	c.ask(&heads, "chain_subscribeNewHeads")
	c.ask(&all, "chain_subscribeAllHeads")
	c.next(heads)
	c.next(all)
	one := alice.extrinsic(node, draft{})
	c.ask(nil, "author_submitExtrinsic", hexOf(one))
	old := node.Mine()
	node.Mine()
	ok(t, node.Reorg(2, nil, nil, nil))
	var seen []string
	for range 3 {
		var h header
		ok(t, json.Unmarshal([]byte(c.next(heads)), &h))
		seen = append(seen, h.Number)
	}
	if fmt.Sprint(seen) != "[0x1 0x2 0x3]" {
		t.Errorf("the heads are %v, want those of the old branch and the newest of the other", seen)
	}
	for range 5 {
		c.next(all)
	}
	var b signedBlock
	c.ask(&b, "chain_getBlock", hexOf(old.Hash[:]))
	if len(b.Block.Extrinsics) != 2 || c.text("chain_getBlockHash", 1) == hexOf(old.Hash[:]) {
		t.Errorf("the old branch has %+v, or is the best", b)
	}
	if got := node.Mine(); len(got.Bodies) != 2 || string(got.Bodies[1]) != string(one) {
		t.Errorf("the block after the fork has %d extrinsics, want what the old branch had", len(got.Bodies))
	}
}

// TestFinality lags, stalls and skips.
func TestFinality(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{Finality: 2})
	c := dial(t, node.URL())
	number := func() string {
		var h header
		c.ask(&h, "chain_getHeader", c.text("chain_getFinalizedHead"))
		return h.Number
	}
	var id string
	c.ask(&id, "chain_subscribeFinalizedHeads")
	c.next(id)
	node.MineBlocks(5)
	if got := number(); got != "0x3" {
		t.Errorf("the final block is %s, want two below the head", got)
	}
	for range 3 {
		c.next(id)
	}
	node.Stall()
	node.MineBlocks(70)
	c.silent(id)
	if got := number(); got != "0x3" {
		t.Errorf("finality stalls, and the final block is %s", got)
	}
	node.Resume()
	node.Mine()
	var h header
	ok(t, json.Unmarshal([]byte(c.next(id)), &h))
	if h.Number != "0x4a" {
		t.Errorf("after the stall the stream says %s, want the newest one alone", h.Number)
	}
	c.silent(id)
	node.Finalize()
	if got := number(); got != "0x4c" {
		t.Errorf("the final block is %s, want the head", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a final block was undone")
		}
	}()
	_ = node.Reorg(1)
}

// TestStatesArePruned: 256 blocks below the final one the state is gone, and header and body are not.
func TestStatesArePruned(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{})
	c := dial(t, node.URL())
	events := hexOf(twoxKey("System", "Events"))
	first := node.Mine()
	at := hexOf(first.Hash[:])
	node.MineBlocks(300)
	if got := c.text("state_getStorage", events, at); got == "" {
		t.Error("nothing is final, and a state is gone")
	}
	node.FinalizeAt(257)
	if got := c.text("state_getStorage", events, at); got == "" {
		t.Error("the state of 256 blocks below is gone")
	}
	node.FinalizeAt(258)
	c.refuses(4003, "State already discarded", "state_getStorage", events, at)
	c.refuses(4003, "State already discarded", "state_call", "Core_version", "0x", at)
	if c.text("chain_getBlockHash", 1) != at {
		t.Error("the block is gone")
	}
	var b signedBlock
	c.ask(&b, "chain_getBlock", at)
	if !b.proven(t) {
		t.Error("the body is gone")
	}
	c.refuses(4003, "UnknownBlock", "state_getStorage", events, hexOf(make([]byte, 32)))
	node.Forget()
	c.refuses(4003, "State already discarded", "state_getStorage", events, c.text("chain_getBlockHash", 300))
	c.ask(nil, "state_getStorage", events)
}
