package substratetest_test

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// Indices of the runtime's pallets and calls, written by hand.
func transfer(call byte, to string, amount int64) []byte {
	return scale.AppendCompact(append([]byte{4, call, 0}, to...), uint64(amount))
}

func transferAll(to string, keep byte) []byte {
	return append(append([]byte{4, 4, 0}, to...), keep)
}

func batch(call byte, calls ...[]byte) []byte {
	return append(scale.AppendCompact([]byte{6, call}, uint64(len(calls))), bytes.Join(calls, nil)...)
}

// Events of one extrinsic, as they are after their phase.
func (c *client) eventsOf(index byte) (events []string) {
	c.t.Helper()
	d := scale.NewDecoder(raw(c.t, c.text("state_getStorage", hexOf(twoxKey("System", "Events")))))
	for range d.Length(3) {
		phase := d.Byte()
		of := byte(255)
		if phase == 0 {
			of = byte(d.U32())
		}
		name := readEvent(c.t, d)
		if d.Length(1) != 0 {
			c.t.Fatal("an event has topics")
		}
		if of == index {
			events = append(events, name)
		}
	}
	ok(c.t, d.Done())
	return events
}

// readEvent decodes the events of this runtime, by what its source says and not by its metadata.
func readEvent(t testing.TB, d *scale.Decoder) string {
	t.Helper()
	info := func() string { d.Compact(); d.Compact(); return fmt.Sprint(d.Byte(), d.Byte()) }
	dispatchError := func() string {
		switch kind := d.Byte(); kind {
		case 3:
			return fmt.Sprintf("module %d.%d", d.Byte(), d.U32())
		case 7, 8:
			return fmt.Sprintf("error %d.%d", kind, d.Byte())
		default:
			return fmt.Sprintf("error %d", kind)
		}
	}
	switch pallet, event := d.Byte(), d.Byte(); fmt.Sprintf("%d.%d", pallet, event) {
	case "0.0":
		return "success " + info()
	case "0.1":
		return "failed " + dispatchError() + ", " + info()
	case "0.2":
		return "code"
	case "0.3":
		return "new " + hexOf(d.Bytes(1)) + hexOf(d.Bytes(31))[:2]
	case "0.4":
		return "killed " + hexOf(d.Bytes(1)) + hexOf(d.Bytes(31))[:2]
	case "0.5":
		d.Bytes(32)
		return fmt.Sprintf("remarked %x", d.Bytes(32))
	case "0.6":
		d.Bytes(33)
		return "authorized"
	case "4.2":
		d.Bytes(64)
		return "transfer " + d.U128().String()
	case "4.0", "4.1", "4.7", "4.8":
		d.Bytes(32)
		return fmt.Sprintf("balance %d %v", event, d.U128())
	case "5.0":
		d.Bytes(32)
		d.U128()
		return "fee with tip " + d.U128().String()
	case "6.0":
		return fmt.Sprintf("interrupted at %d: %s", d.U32(), dispatchError())
	case "6.1", "6.2", "6.3":
		return [...]string{1: "batch completed", 2: "batch completed with errors", 3: "item"}[event]
	case "6.4":
		return "item failed: " + dispatchError()
	default:
		t.Fatalf("event %d of pallet %d", event, pallet)
		return ""
	}
}

// TestEffects: what the calls do, and what the events say of it: also of those in a batch (Z10).
func TestEffects(t *testing.T) {
	t.Parallel()
	alice, bob := newKey(t, kindEd25519, 1), newKey(t, kindEd25519, 2)
	much := int64(1e15)
	sum := blake2b.Sum256([]byte("hi"))
	success, fees := "success 0 0", "fee with tip 0"
	small := transfer(0, bob.account, 1)
	good := transfer(0, bob.account, 2e9)
	for _, one := range []struct {
		name string
		call []byte
		want []string // without Withdraw and the fee
		gets int64    // bob
	}{
		{"remark", remark("hi"), []string{success}, 0},
		{"remark_with_event", scale.AppendText([]byte{0, 7}, "hi"), []string{fmt.Sprintf("remarked %x", sum), success}, 0},
		{"transfer", good, []string{"new", "balance 0 2000000000", "transfer 2000000000", success}, 2e9},
		{"transfer_keep_alive", transfer(3, bob.account, 2e9), []string{"new", "balance 0 2000000000", "transfer 2000000000", success}, 2e9},
		{"transfer to nobody", []byte{4, 0, 1, 4}, []string{"failed error 1, 0 0"}, 0},
		{"transfer of too much", transfer(0, bob.account, 2*much), []string{"failed error 8.0, 0 0"}, 0},
		{"transfer of less than the deposit", small, []string{"failed error 7.2, 0 0"}, 0},
		{"transfer_keep_alive of nearly all", transfer(3, bob.account, much-5e8), []string{"failed error 7.8, 0 0"}, 0},
		{"set_code", scale.AppendText([]byte{0, 2}, "code"), []string{"failed error 2, 0 0"}, 0},
		{"apply_authorized_upgrade of none", scale.AppendText([]byte{0, 11}, "code"), []string{"failed module 0.7, 0 0"}, 0},
		{"batch", batch(0, remark("a"), good), []string{"item", "new", "balance 0 2000000000", "transfer 2000000000", "item", "batch completed", success}, 2e9},
		{"batch that is interrupted", batch(0, remark("a"), small, good), []string{"item", "interrupted at 1: error 7.2", success}, 0},
		{"batch_all", batch(2, good, transfer(0, bob.account, 2*much)), []string{"failed error 8.0, 0 0"}, 0},
		{"force_batch", batch(4, small, good), []string{"item failed: error 7.2", "new", "balance 0 2000000000", "transfer 2000000000", "item", "batch completed with errors", success}, 2e9},
		{"batch of more than there may be", batch(0, remark("a"), remark("a"), remark("a"), remark("a")), []string{"failed module 6.0, 0 0"}, 0},
		{"batch in a batch", batch(2, batch(0, small), good), []string{"interrupted at 0: error 7.2", "item", "new", "balance 0 2000000000", "transfer 2000000000", "item", "batch completed", success}, 2e9},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			cfg := rich(alice)
			cfg.MaxBatchCalls = 3
			node := start(t, cfg)
			c := dial(t, node.URL())
			tx := alice.extrinsic(node, draft{call: one.call})
			c.ask(nil, submit, hexOf(tx))
			node.Mine()
			var got []string
			for _, e := range c.eventsOf(1)[2:] {
				got = append(got, strings.TrimSuffix(e, " "+e[strings.LastIndex(e, " ")+1:]))
				if !strings.HasPrefix(e, "new") {
					got[len(got)-1] = e
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(one.want) {
				t.Errorf("the events are %q, want %q", got, one.want)
			}
			if first := c.eventsOf(1)[:2]; !strings.HasPrefix(first[0], "balance 8 ") || first[1] != fees {
				t.Errorf("the fee is %q", first)
			}
			if inherent := c.eventsOf(0); fmt.Sprint(inherent) != "[success 2 1]" {
				t.Errorf("the time has the events %q", inherent)
			}
			if got := node.Free(bob.account); got.Int64() != one.gets {
				t.Errorf("bob has %v, want %d", got, one.gets)
			}
		})
	}
}

// TestReapingReplays: an account that gives all away ceases to exist, its nonces begin anew once it is funded, and the same bytes are
// good once more (Z6, Z7, Z9).
func TestReapingReplays(t *testing.T) {
	t.Parallel()
	alice, bob := newKey(t, kindEd25519, 1), newKey(t, kindEd25519, 2)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	first := alice.extrinsic(node, draft{})
	c.ask(nil, submit, hexOf(first))
	node.Mine()
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 1, call: transferAll(bob.account, 0)})))
	node.Mine()
	if events := fmt.Sprint(c.eventsOf(1)); !strings.Contains(events, "killed") {
		t.Errorf("the events are %s", events)
	}
	if nonce, exists := node.Nonce(alice.account); nonce != 0 || exists {
		t.Errorf("it is there: %t, with nonce %d", exists, nonce)
	}
	c.refuses(1010, "Inability to pay", submit, hexOf(alice.extrinsic(node, draft{call: remark("more")})))
	before := node.Head()
	node.Fund(alice.account, big.NewInt(1e12))
	node.Mine()
	c.refuses(1012, "", submit, hexOf(first)) // this node has banned it
	if _, err := node.Seal(first); err != nil {
		t.Errorf("the first bytes again: %v", err)
	}
	ok(t, node.Reorg(1))
	node.Pass(30 * time.Minute)
	if got := node.Mine(); len(got.Bodies) != 2 || string(got.Bodies[1]) != string(first) {
		t.Errorf("what the undone block had is not in %d extrinsics", len(got.Bodies))
	}
	if nonce, exists := node.Nonce(alice.account); nonce != 1 || !exists {
		t.Errorf("it is there: %t, with nonce %d", exists, nonce)
	}
	ok(t, node.Reorg(int(node.Head().Number-before.Number), nil, nil))
	if _, exists := node.Nonce(alice.account); exists {
		t.Error("the branch on which it was funded is gone, and it exists")
	}
	node.Reap(bob.account)
	node.Mine()
	if free := node.Free(bob.account); free.Sign() != 0 || !strings.Contains(fmt.Sprint(c.eventsOf(255)), "killed") {
		t.Errorf("bob has %v, events %v", free, c.eventsOf(255))
	}
	kept := transferAll(bob.account, 1)
	node.Fund(alice.account, big.NewInt(1e13))
	node.Mine()
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{call: kept})))
	node.Mine()
	if free := node.Free(alice.account); free.Int64() != 1e9 {
		t.Errorf("after transfer_all with keep_alive it has %v, want the deposit", free)
	}
}

// TestUpgrade: a runtime belongs to a branch, and counts from the block after the one that brings it on (Z4, Z13).
func TestUpgrade(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	var versions string
	c.ask(&versions, "state_subscribeRuntimeVersion")
	c.next(versions)
	spec := func(at ...any) int {
		var v struct {
			Spec int `json:"specVersion"`
		}
		c.ask(&v, "state_getRuntimeVersion", at...)
		return v.Spec
	}
	node.Mine()
	var stream string
	c.ask(&stream, watch, hexOf(alice.extrinsic(node, draft{})))
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 1})))
	first := node.Head().Hash
	node.Upgrade(substratetest.Runtime{Spec: 101, Transaction: 1, Moved: true, Reshaped: true})
	brings, err := node.Seal(alice.extrinsic(node, draft{})) // of the old version: the block before it decides
	ok(t, err)
	var h header
	c.ask(&h, "chain_getHeader", hexOf(brings.Hash[:]))
	if len(h.Digest.Logs) != 2 || h.Digest.Logs[1] != "0x08" {
		t.Errorf("the digest is %v, want that the runtime has changed", h.Digest.Logs)
	}
	if spec() != 101 || spec(hexOf(first[:])) != 100 || !strings.Contains(c.next(versions), `"specVersion":101`) {
		t.Errorf("the version is %d, was %d", spec(), spec(hexOf(first[:])))
	}
	if queues(node) != "0 ready, 0 future" {
		t.Errorf("the pool has %s of the old version", queues(node))
	}
	c.refuses(1010, "bad signature", submit, hexOf(alice.extrinsic(node, draft{nonce: 1, call: scale.AppendText([]byte{0, 7}, "old")})))
	c.refuses(1002, "", submit, hexOf(alice.extrinsic(node, draft{nonce: 1, spec: 101, call: remark("old shape")})))
	shaped := append(remark("new"), 0, 0, 0, 0)
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 1, spec: 101, call: shaped})))
	c.refuses(1002, "", submit, hexOf(alice.extrinsic(node, draft{nonce: 2, spec: 101, call: transfer(0, alice.account, 1)}))) // the pallet has moved
	if c.text("state_getMetadata") == c.text("state_getMetadata", hexOf(first[:])) {
		t.Error("the metadata is the same")
	}
	if c.text("state_getStorageHash", hexOf([]byte(":code"))) == c.text("state_getStorageHash", hexOf([]byte(":code")), hexOf(first[:])) {
		t.Error("the code is the same")
	}
	ok(t, node.Reorg(1, nil))
	if spec() != 100 {
		t.Errorf("the branch that brought it is gone, and the version is %d", spec())
	}
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 1, tip: tipped(1)})))
	if b := node.Mine(); len(b.Bodies) != 3 {
		t.Errorf("on the other branch the block has %d extrinsics, want both of the old version", len(b.Bodies))
	}
	next := substratetest.Runtime{Spec: 102, Transaction: 1}
	node.Authorize(next)
	node.Mine()
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 2, call: scale.AppendBlob([]byte{0, 11}, []byte("no code"))})))
	node.Mine()
	if events := fmt.Sprint(c.eventsOf(1)); !strings.Contains(events, "failed module 0.8") {
		t.Errorf("the events are %s", events)
	}
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{nonce: 3, call: scale.AppendBlob([]byte{0, 11}, next.Code())})))
	node.Mine()
	if events := fmt.Sprint(c.eventsOf(1)); !strings.Contains(events, "code") || spec() != 102 {
		t.Errorf("the version is %d, the events %s", spec(), events)
	}
}

// TestStrangeExtension: the runtime may have an extension more, which is in the bytes (Z15).
func TestStrangeExtension(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	cfg := rich(alice)
	cfg.Runtime.Extension = "CheckCreatedAtHeight"
	node := start(t, cfg)
	c := dial(t, node.URL())
	c.refuses(1002, "", submit, hexOf(alice.extrinsic(node, draft{call: []byte{4, 4}})))
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{strange: true})))
	if !strings.Contains(c.text("state_getMetadata"), fmt.Sprintf("%x", "CheckCreatedAtHeight")) {
		t.Error("the metadata does not name it")
	}
}
