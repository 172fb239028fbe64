package substratetest_test

import (
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain/substrate/extrinsic"
	keys "github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// TestCodecAndNodeAgree: what package extrinsic signs by the node's metadata the node carries out, for each kind of key, and what
// this test signs by hand the package verifies (S20).
func TestCodecAndNodeAgree(t *testing.T) {
	t.Parallel()
	for kind, number := range map[keys.Kind]byte{keys.Ed25519: kindEd25519, keys.Sr25519: kindSr25519, keys.ECDSA: kindECDSA, keys.Ethereum: kindEthereum} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			pair, err := keys.FromURI(kind, "0x0101010101010101010101010101010101010101010101010101010101010101")
			ok(t, err)
			alice := newKey(t, number, 1)
			if alice.account != string(pair.Account()) {
				t.Fatalf("the account of one secret is %x here, and %x there", alice.account, pair.Account())
			}
			node := start(t, rich(alice))
			node.MineBlocks(3)
			c := dial(t, node.URL())
			rt, err := metadata.Decode(raw(t, c.text("state_getMetadata")))
			ok(t, err)
			codec, err := extrinsic.For(rt)
			ok(t, err)
			born := node.Head()
			era, birth := extrinsic.BornAt(64, uint64(born.Number))
			if birth != uint64(born.Number) {
				t.Fatalf("born at %d, want %d", birth, born.Number)
			}
			p := extrinsic.Payload{Call: remark("hello"), Era: era, Tip: big.NewInt(7), SpecVersion: 100, TransactionVersion: 1, Genesis: node.Genesis(), Birth: born.Hash}
			one, err := codec.Sign(t.Context(), p, pair)
			ok(t, err)
			if got := c.text(submit, hexOf(one)); got != hashOf(one) {
				t.Errorf("the node says %s", got)
			}
			if b := node.Mine(); len(b.Bodies) != 2 {
				t.Error("the block is without it")
			}
			byHand, err := codec.Decode(alice.extrinsic(node, draft{period: 64, birth: substratetest.Block{Number: born.Number, Hash: born.Hash}}))
			ok(t, err)
			ok(t, codec.Verify(byHand, 100, 1, node.Genesis(), born.Hash))
		})
	}
}
