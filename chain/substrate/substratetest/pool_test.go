package substratetest_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

const (
	submit = "author_submitExtrinsic"
	watch  = "author_submitAndWatchExtrinsic"
)

func tipped(amount int64) *big.Int { return big.NewInt(amount) }

func queues(node *substratetest.Node) string {
	ready, future := node.Pending()
	return fmt.Sprintf("%d ready, %d future", len(ready), len(future))
}

// TestSignatures: each kind of key is verified, and one bit makes all the difference (S20).
func TestSignatures(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]byte{"ed25519": kindEd25519, "sr25519": kindSr25519, "ecdsa": kindECDSA, "ethereum": kindEthereum} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alice := newKey(t, kind, 1)
			node := start(t, rich(alice))
			c := dial(t, node.URL())
			good := alice.extrinsic(node, draft{})
			for _, bit := range []int{len(good) - 1, 2 + 1 + len(alice.account) + 5} { // in the call, in the signature
				bad := append([]byte(nil), good...)
				bad[bit] ^= 1
				c.refuses(1010, "bad signature", submit, hexOf(bad))
			}
			long := alice.extrinsic(node, draft{nonce: 1, call: remark(string(make([]byte, 64<<10)))})
			c.refuses(1010, "bad signature", submit, hexOf(alice.extrinsic(node, draft{spec: 99})))
			c.refuses(1010, "bad signature", submit, hexOf(alice.extrinsic(node, draft{other: "another chain"})))
			if got := c.text(submit, hexOf(good)); got != hashOf(good) {
				t.Errorf("the node says %s, and the hash is %s", got, hashOf(good))
			}
			c.ask(nil, submit, hexOf(long))
			if b := node.Mine(); len(b.Bodies) != 3 {
				t.Errorf("the block has %d extrinsics, want the time and both", len(b.Bodies))
			}
			if nonce, exists := node.Nonce(alice.account); nonce != 2 || !exists {
				t.Errorf("the nonce is %d, the account is there: %t", nonce, exists)
			}
		})
	}
}

// TestQueues: what has a nonce before it missing waits in the future queue, and becomes ready with it.
func TestQueues(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	next := func() (n int) { c.ask(&n, "system_accountNextIndex", hexOf([]byte(alice.account))); return n }
	var stream string
	c.ask(&stream, watch, hexOf(alice.extrinsic(node, draft{nonce: 2})))
	c.wants(stream, `"future"`)
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 1})))
	if queues(node) != "0 ready, 2 future" || next() != 0 {
		t.Errorf("there are %s, next %d", queues(node), next())
	}
	if b := node.Mine(); len(b.Bodies) != 1 {
		t.Error("a block has what is in the future queue")
	}
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{})))
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`)
	if queues(node) != "3 ready, 0 future" || next() != 3 {
		t.Errorf("there are %s, next %d", queues(node), next())
	}
	var pending []string
	c.ask(&pending, "author_pendingExtrinsics")
	if len(pending) != 3 {
		t.Errorf("%d are pending", len(pending))
	}
	node.Drop(substratetest.Hash(alice.extrinsic(node, draft{})))
	if queues(node) != "0 ready, 2 future" {
		t.Errorf("the first was dropped, and there are %s", queues(node))
	}
	c.silent("none")
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{})))
	node.Mine()
	if nonce, _ := node.Nonce(alice.account); nonce != 3 {
		t.Errorf("the nonce is %d", nonce)
	}
}

// TestReplacement: a transaction replaces another if its priority is strictly higher, and the other is usurped (Z16).
func TestReplacement(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	cfg := rich(alice)
	cfg.TipUnit = 1000
	node := start(t, cfg)
	c := dial(t, node.URL())
	var stream string
	c.ask(&stream, watch, hexOf(alice.extrinsic(node, draft{})))
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`)
	c.refuses(1013, "Already Imported", submit, hexOf(alice.extrinsic(node, draft{})))
	c.refuses(1014, "Priority is too low", submit, hexOf(alice.extrinsic(node, draft{call: remark("other")})))
	c.refuses(1014, "too low priority", submit, hexOf(alice.extrinsic(node, draft{call: remark("hallo"), tip: tipped(1)}))) // this tip is nothing here
	more := alice.extrinsic(node, draft{call: remark("hallo"), tip: tipped(1000)})
	c.ask(nil, submit, hexOf(more))
	c.wants(stream, `{"usurped":"`+hashOf(more)+`"}`)
	if queues(node) != "1 ready, 0 future" {
		t.Errorf("one has replaced another, and there are %s", queues(node))
	}
	top := new(big.Int).Lsh(big.NewInt(1), 47)
	node.Fund(alice.account, new(big.Int).Lsh(big.NewInt(1), 100))
	ok(t, node.Reorg(0, nil))
	saturated := new(big.Int).Lsh(top, 40)
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{tip: saturated})))
	c.refuses(1014, "18446744073709551615 vs 18446744073709551615", submit, hexOf(alice.extrinsic(node, draft{tip: saturated.Add(saturated, top)})))
}

// TestBans: what was in a block, what was not valid and what was thrown out is banned for thirty minutes, other bytes are not.
func TestBans(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	now := time.Unix(1_700_000_000, 0)
	cfg := rich(alice)
	cfg.Now = func() time.Time { return now }
	node := start(t, cfg)
	c := dial(t, node.URL())
	done, banned, bad := alice.extrinsic(node, draft{}), alice.extrinsic(node, draft{nonce: 1}), alice.extrinsic(node, draft{spec: 7})
	c.refuses(1010, "bad signature", submit, hexOf(bad))
	c.ask(nil, submit, hexOf(done))
	node.Mine()
	c.ask(nil, submit, hexOf(banned))
	behind := alice.extrinsic(node, draft{nonce: 2})
	c.ask(nil, submit, hexOf(behind))
	node.Ban(substratetest.Hash(banned))
	if queues(node) != "0 ready, 1 future" {
		t.Errorf("one was banned, and with what waits for it there are %s", queues(node))
	}
	node.Drop(substratetest.Hash(behind))
	for _, raw := range [][]byte{done, banned, bad} {
		c.refuses(1012, "temporarily banned", submit, hexOf(raw))
	}
	node.Pass(30*time.Minute - 1)
	c.refuses(1012, "", submit, hexOf(banned))
	other := alice.extrinsic(node, draft{nonce: 1, tip: tipped(1)})
	c.ask(nil, submit, hexOf(other))
	var removed []string
	c.ask(&removed, "author_removeExtrinsic", []any{map[string]string{"hash": hashOf(other)}, map[string]string{"hash": hashOf(done)}})
	if len(removed) != 1 || removed[0] != hashOf(other) || queues(node) != "0 ready, 0 future" {
		t.Errorf("removed are %v, and there are %s", removed, queues(node))
	}
	c.refuses(1012, "", submit, hexOf(other))
	node.Pass(1)
	c.ask(nil, submit, hexOf(banned))
	c.refuses(1010, "Transaction is outdated", submit, hexOf(done))
}

// TestRoom: without room the least and newest is dropped: 1016 if it is the one that has just come.
func TestRoom(t *testing.T) {
	t.Parallel()
	alice, bob := newKey(t, kindEd25519, 1), newKey(t, kindEd25519, 2)
	cfg := rich(alice, bob)
	cfg.Ready, cfg.Future, cfg.PerBlock = 2, 1, 1
	node := start(t, cfg)
	c := dial(t, node.URL())
	var stream, late string
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{tip: tipped(5)})))
	c.ask(&stream, watch, hexOf(alice.extrinsic(node, draft{nonce: 1})))
	c.refuses(1016, "Immediately Dropped", submit, hexOf(alice.extrinsic(node, draft{nonce: 2})))
	c.ask(nil, submit, hexOf(bob.extrinsic(node, draft{tip: tipped(9)})))
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`, `"dropped"`)
	c.ask(&late, watch, hexOf(alice.extrinsic(node, draft{nonce: 9})))
	c.refuses(1016, "", submit, hexOf(alice.extrinsic(node, draft{nonce: 8})))
	if queues(node) != "2 ready, 1 future" {
		t.Errorf("there are %s", queues(node))
	}
	if b := node.Mine(); string(b.Bodies[1]) != string(bob.extrinsic(node, draft{tip: tipped(9)})) || len(b.Bodies) != 2 {
		t.Error("a block of one transaction has not the one of the highest priority")
	}
}

// TestRefusals are what a node says of what it does not take, in both spellings.
func TestRefusals(t *testing.T) {
	t.Parallel()
	alice, poor := newKey(t, kindEd25519, 1), newKey(t, kindEd25519, 3)
	cfg := rich(alice)
	thin := newKey(t, kindEd25519, 4)
	cfg.Accounts[thin.account] = big.NewInt(1_150_000_000) // could pay, and would be below the deposit then
	node := start(t, cfg)
	cfg.Chopsticks = true
	sticks := start(t, cfg)
	c, s := dial(t, node.URL()), dial(t, sticks.URL())
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{})))
	node.Mine()
	good := alice.extrinsic(node, draft{nonce: 1})
	c.refuses(1001, "invalid format", submit, hexOf(good[:len(good)-1]))
	c.refuses(1001, "", submit, "0x")
	c.refuses(-32602, "", submit, "nothing")
	c.refuses(1002, "Execution failed", submit, hexOf(alice.extrinsic(node, draft{nonce: 1, call: []byte{99, 0}})))
	c.refuses(1010, "Transaction is outdated", submit, hexOf(alice.extrinsic(node, draft{call: remark("again")})))
	c.refuses(1010, "Inability to pay", submit, hexOf(poor.extrinsic(node, draft{})))
	c.refuses(1010, "Inability to pay", submit, hexOf(alice.extrinsic(node, draft{nonce: 1, tip: tipped(1e15)})))
	c.refuses(1010, "Inability to pay", submit, hexOf(thin.extrinsic(node, draft{})))
	c.refuses(1010, "Inability to pay", watch, hexOf(thin.extrinsic(node, draft{call: remark("watched")})))
	if n := node.Front().Subscriptions(); n != 0 {
		t.Errorf("of what was refused there are %d subscriptions", n)
	}
	c.refuses(1010, "exhaust", submit, hexOf(alice.extrinsic(node, draft{nonce: 1, call: remark(string(make([]byte, 3_932_160)))})))
	c.refuses(1011, "", submit, hexOf(scale.AppendBlob(nil, append([]byte{4}, remark("no signature")...))))
	s.refuses(1010, `{"invalid":{"badProof":null}}`, submit, hexOf(alice.extrinsic(node, draft{spec: 5})))
	s.refuses(1010, `{"invalid":{"payment":null}}`, submit, hexOf(poor.extrinsic(sticks, draft{})))
	var stream string
	s.ask(&stream, watch, hexOf(alice.extrinsic(sticks, draft{})))
	s.wants(stream, `{"ready":null}`)
}

// TestStream follows one extrinsic to its end: over a fork, and to finality. The stream says no more after it (Z19).
func TestStream(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindSr25519, 1)
	cfg := rich(alice)
	cfg.NumericIDs = true
	node := start(t, cfg)
	c := dial(t, node.URL())
	var stream float64
	one := alice.extrinsic(node, draft{})
	c.ask(&stream, watch, hexOf(one))
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`)
	in := func(word string, b substratetest.Block) string { return fmt.Sprintf(`{%q:%q}`, word, hexOf(b.Hash[:])) }
	old := node.Mine()
	c.wants(stream, in("inBlock", old))
	ok(t, node.Reorg(1, nil))
	c.wants(stream, in("retracted", old), `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`)
	again := node.Mine()
	c.wants(stream, in("inBlock", again))
	node.Finalize()
	c.wants(stream, in("finalized", again))
	if n := node.Front().Subscriptions(); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
	second := alice.extrinsic(node, draft{nonce: 1})
	c.ask(&stream, watch, hexOf(second))
	here := node.Mine()
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`, in("inBlock", here))
	node.MineBlocks(513)
	c.wants(stream, in("finalityTimeout", here))
	c.ask(&stream, watch, hexOf(alice.extrinsic(node, draft{nonce: 2})))
	c.wants(stream, `"ready"`, `{"broadcast":["12D3KooWSubstratetest"]}`)
	var gone bool
	if c.ask(&gone, "author_unwatchExtrinsic", stream); !gone {
		t.Error("the stream could not be ended")
	}
	node.Mine()
	c.silent(stream)
}

// TestEras: the last block that takes a transaction is birth + period - 1 (Z1); then it is ancient, and then a bad proof, as it
// is on a branch without its birth.
func TestEras(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	validity := func(raw []byte) string {
		return c.text("state_call", "TaggedTransactionQueue_validate_transaction", hexOf(append(append([]byte{2}, raw...), make([]byte, 32)...)))
	}
	node.MineBlocks(5)
	one := alice.extrinsic(node, draft{period: 4, birth: node.Head()})
	for blocks, want := range []string{"0x00", "0x00", "0x00", "0x010005", "0x010004", "0x010004"} { // good for blocks 6, 7, 8
		if got := validity(one); got[:min(len(got), len(want))] != want || len(want) > 4 && got != want {
			t.Errorf("%d blocks after its birth the runtime says %s, want %s", blocks, got, want)
		}
		node.Mine()
	}
	born := node.Mine()
	dead := alice.extrinsic(node, draft{period: 64, birth: born})
	c.ask(nil, submit, hexOf(dead))
	ok(t, node.Reorg(1, nil, nil))
	if got := validity(dead); got != "0x010004" || queues(node) != "0 ready, 0 future" {
		t.Errorf("of one born on a dead branch the runtime says %s, and the pool has %s", got, queues(node))
	}
	long := alice.extrinsic(node, draft{period: 1 << 14, birth: substratetest.Block{Number: 0, Hash: node.Genesis()}}) // phases in steps of four
	if got := validity(long); got[:4] != "0x00" {
		t.Errorf("of a long era the runtime says %s", got)
	}
}

// TestValidity: validate_transaction gives the priority of FRAME, and what a transaction requires (Z12, Z16).
func TestValidity(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	first := node.Head().Hash
	validate := func(d draft, at ...any) *scale.Decoder {
		raw := alice.extrinsic(node, d)
		return scale.NewDecoder(hexBytes(t, c.text("state_call", append([]any{"TaggedTransactionQueue_validate_transaction", hexOf(append(append([]byte{2}, raw...), make([]byte, 32)...))}, at...)...)))
	}
	var priorities [2]uint64
	for tip := range priorities {
		d := validate(draft{nonce: 1, tip: tipped(int64(tip))})
		if d.Byte() != 0 {
			t.Fatal("it is not valid")
		}
		priorities[tip] = d.U64()
		if requires := d.Length(1); requires != 1 || len(d.Blob()) != 36 {
			t.Errorf("it requires %d", requires)
		}
		if provides := d.Length(1); provides != 1 || len(d.Blob()) != 36 || d.U64() != 1<<64-1 || !d.Bool() || d.Done() != nil {
			t.Errorf("it provides %d, %v", provides, d.Err())
		}
	}
	if priorities[1] != 2*priorities[0] || priorities[0] == 0 {
		t.Errorf("the priorities of tips 0 and 1 are %v", priorities)
	}
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{})))
	node.Mine()
	if d := validate(draft{}); string(d.Bytes(3)) != "\x01\x00\x03" {
		t.Error("what is outdated is not called so")
	}
	if d := validate(draft{}, hexOf(first[:])); d.Byte() != 0 {
		t.Error("as of the first block it is not valid")
	}
	c.refuses(4003, "Execution failed", "state_call", "TaggedTransactionQueue_validate_transaction", "0x0203")
	var info struct {
		Fee string `json:"partialFee"`
	}
	one := alice.extrinsic(node, draft{nonce: 1})
	c.ask(&info, "payment_queryInfo", hexOf(one))
	if info.Fee != fmt.Sprint(100_000_000+1_000_000*len(one)) {
		t.Errorf("the fee is %s", info.Fee)
	}
	before := node.Free(alice.account)
	c.ask(nil, submit, hexOf(one))
	node.Mine()
	if paid := before.Sub(before, node.Free(alice.account)); paid.String() != info.Fee {
		t.Errorf("it has paid %v, and the fee was to be %s", paid, info.Fee)
	}
}

func hexBytes(t testing.TB, text string) []byte { t.Helper(); return raw(t, text) }
