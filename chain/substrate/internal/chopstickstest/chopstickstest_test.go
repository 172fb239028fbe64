//go:build unix

package chopstickstest_test

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/internal/chopstickstest"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/ss58"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a chain, its runtime, and who signs for it.
type bench struct {
	*chopstickstest.Node
	t       *testing.T
	runtime *metadata.Runtime
	codec   *extrinsic.Codec
	usual   extrinsic.Payload // versions and genesis
}

// funded is what an account has; the runtime's existential deposit is a 300th of it.
const funded = 1e12

func start(t *testing.T, signers ...key.Signer) *bench {
	t.Helper()
	t.Parallel()
	funds := map[string]uint64{}
	for _, s := range signers {
		funds[ss58.Encode([]byte(s.Account()), ss58.Generic)] = funded
	}
	b := &bench{Node: chopstickstest.Start(t, funds), t: t}
	var err error
	if b.runtime, err = metadata.Decode(b.Bytes("state_getMetadata")); err != nil {
		t.Fatal(err)
	}
	if b.codec, err = extrinsic.For(b.runtime); err != nil {
		t.Fatal(err)
	}
	var version struct{ SpecVersion, TransactionVersion uint32 }
	b.Call(&version, "state_getRuntimeVersion")
	b.usual = extrinsic.Payload{SpecVersion: version.SpecVersion, TransactionVersion: version.TransactionVersion, Genesis: b.hash(0), Birth: b.hash(0)}
	return b
}

// hash returns the hash of the block of a height.
func (b *bench) hash(height uint64) (h [32]byte) {
	b.t.Helper()
	copy(h[:], b.Bytes("chain_getBlockHash", height))
	return h
}

func (b *bench) height() uint64 {
	b.t.Helper()
	var head struct{ Number string }
	b.Node.Call(&head, "chain_getHeader")
	n, ok := new(big.Int).SetString(strings.TrimPrefix(head.Number, "0x"), 16)
	if !ok {
		b.t.Fatalf("a block has the height %q", head.Number)
	}
	return n.Uint64()
}

// call encodes a call by its names, with arguments as JSON.
func (b *bench) call(pallet, name, arguments string) []byte {
	b.t.Helper()
	c, err := b.runtime.Call(pallet, name)
	if err != nil {
		b.t.Fatal(err)
	}
	given, err := metadata.ParseJSON([]byte(arguments))
	if err != nil {
		b.t.Fatal(err)
	}
	encoded, err := b.runtime.EncodeArguments(c, given)
	if err != nil {
		b.t.Fatal(err)
	}
	named, err := extrinsic.Name(b.runtime, pallet, name, encoded)
	if err != nil {
		b.t.Fatal(err)
	}
	bytes, err := named.Call(b.runtime)
	if err != nil {
		b.t.Fatal(err)
	}
	return bytes
}

func (b *bench) remark(text string) []byte {
	b.t.Helper()
	return b.call("System", "remark", `{"remark":"0x`+hex.EncodeToString([]byte(text))+`"}`)
}

// sign signs a call after some changes to what is usual.
func (b *bench) sign(by key.Signer, call []byte, nonce uint64, change func(*extrinsic.Payload)) []byte {
	b.t.Helper()
	p := b.usual
	p.Call, p.Nonce = call, nonce
	if change != nil {
		change(&p)
	}
	signed, err := b.codec.Sign(b.t.Context(), p, by)
	if err != nil {
		b.t.Fatal(err)
	}
	return signed
}

// mortal lets a payload wear out.
func (b *bench) mortal(period uint64) func(*extrinsic.Payload) {
	b.t.Helper()
	era, birth := extrinsic.BornAt(period, b.height())
	hash := b.hash(birth)
	return func(p *extrinsic.Payload) { p.Era, p.Birth = era, hash }
}

// send submits an extrinsic and makes a block of it.
func (b *bench) send(signed []byte) (block string) {
	b.t.Helper()
	b.Node.Call(nil, "author_submitExtrinsic", chopstickstest.Hex(signed))
	block = b.Mine()
	for _, one := range b.Body(block) {
		if one == chopstickstest.Hex(signed) {
			return block
		}
	}
	b.t.Fatalf("block %s does not have what was sent", block)
	return block
}

func (b *bench) nonce(of key.Signer) (n uint64) {
	b.t.Helper()
	b.Node.Call(&n, "system_accountNextIndex", ss58.Encode([]byte(of.Account()), ss58.Generic))
	return n
}

// events returns the names of what happened in a block.
func (b *bench) events(block string) (all []string) {
	b.t.Helper()
	entry, err := b.runtime.Storage("System", "Events")
	if err != nil {
		b.t.Fatal(err)
	}
	at, err := extrinsic.StorageKey(entry)
	if err != nil {
		b.t.Fatal(err)
	}
	events, err := b.runtime.Events(b.Bytes("state_getStorage", chopstickstest.Hex(at), block))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range events {
		all = append(all, e.Pallet+"."+e.Name)
	}
	return all
}

func pair(t *testing.T, kind key.Kind, uri string) *key.Pair {
	t.Helper()
	p, err := key.FromURI(kind, uri)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// S18, S20, Z1, Z10: a runtime that nobody here wrote takes what is signed, with each kind of key, and carries it out once.
func TestARealRuntimeTakesWhatIsSigned(t *testing.T) {
	sr, ed, ec := pair(t, key.Sr25519, "//Alice"), pair(t, key.Ed25519, "//Bob"), pair(t, key.ECDSA, "//Charlie")
	b := start(t, sr, ed, ec)
	for _, by := range []key.Signer{sr, ed, ec} {
		if said, _ := b.Validate(b.sign(by, b.remark("immortal"), 0, nil)); said != "OK" {
			t.Errorf("%v, for ever: the runtime says %s", by.Kind(), said)
		}
		plain := b.sign(by, b.remark("mortal"), 0, b.mortal(64))
		said, priority := b.Validate(plain)
		if said != "OK" {
			t.Errorf("%v, mortal: the runtime says %s", by.Kind(), said)
		}
		tipped := b.sign(by, b.remark("mortal"), 0, func(p *extrinsic.Payload) { b.mortal(64)(p); p.Tip = big.NewInt(1e9) })
		if said, higher := b.Validate(tipped); said != "OK" || higher <= priority {
			t.Errorf("%v, with a tip: the runtime says %s, priority %d; without one %d", by.Kind(), said, higher, priority)
		}
		block := b.send(plain)
		if got := b.nonce(by); got != 1 {
			t.Errorf("%v: the account's nonce is %d after one extrinsic", by.Kind(), got)
		}
		if happened := strings.Join(b.events(block), " "); !strings.Contains(happened, "System.ExtrinsicSuccess") {
			t.Errorf("%v: the block's events are %s", by.Kind(), happened)
		}
		if said, _ := b.Validate(plain); said != "Stale" {
			t.Errorf("%v, once more: the runtime says %s, want Stale", by.Kind(), said)
		}
	}
	large := b.sign(sr, b.remark(strings.Repeat("x", 64<<10)), 1, b.mortal(64))
	if said, _ := b.Validate(large); said != "OK" {
		t.Errorf("a call of 64 kB: the runtime says %s", said)
	}
	b.send(large)
	if said, _ := b.Validate(b.sign(sr, b.remark("later"), 5, b.mortal(64))); said != "OK" {
		t.Errorf("a nonce that is not next yet: the runtime says %s, want OK, and what it requires", said)
	}
}

// F10: BadProof and AncientBirthBlock have many causes, and say nothing of the call.
func TestWhyARealRuntimeRefuses(t *testing.T) {
	by := pair(t, key.Sr25519, "//Alice")
	b := start(t, by)
	flipped := b.sign(by, b.remark("flipped"), 0, nil)
	flipped[60] ^= 1 // in the signature
	brief := b.sign(by, b.remark("brief"), 0, b.mortal(extrinsic.MinPeriod))
	for what, signed := range map[string][]byte{
		"another version of the runtime": b.sign(by, b.remark("x"), 0, func(p *extrinsic.Payload) { p.SpecVersion++ }),
		"another form of calls":          b.sign(by, b.remark("x"), 0, func(p *extrinsic.Payload) { p.TransactionVersion++ }),
		"another chain":                  b.sign(by, b.remark("x"), 0, func(p *extrinsic.Payload) { p.Genesis[0] ^= 1 }),
		"a block that there is not":      b.sign(by, b.remark("x"), 0, func(p *extrinsic.Payload) { b.mortal(64)(p); p.Birth[0] ^= 1 }),
		"a bit of the signature":         flipped,
	} {
		if said, _ := b.Validate(signed); said != "BadProof" {
			t.Errorf("%s: the runtime says %s, want BadProof", what, said)
		}
	}
	if said, _ := b.Validate(b.sign(pair(t, key.Sr25519, "//Nobody"), b.remark("x"), 0, nil)); said != "Payment" {
		t.Errorf("an account that does not exist: the runtime says %s, want Payment", said)
	}
	if said, _ := b.Validate(brief); said != "OK" {
		t.Errorf("at its birth the runtime says %s of an extrinsic", said)
	}
	for range extrinsic.MinPeriod {
		b.Mine()
	}
	if said, _ := b.Validate(brief); said != "AncientBirthBlock" && said != "BadProof" {
		t.Errorf("past its era the runtime says %s", said)
	}
	era, birth := extrinsic.BornAt(extrinsic.MinPeriod, b.height())
	last := b.sign(by, b.remark("last"), 0, b.mortal(extrinsic.MinPeriod))
	for b.height()+1 < era.Until(birth) {
		b.Mine()
	}
	if b.send(last); b.height() != era.Until(birth) { // Z1: birth + period - 1
		t.Errorf("it is in block %d, and the last that takes it is %d", b.height(), era.Until(birth))
	}
}

// F2: an account gives all away and ceases to exist, somebody funds it, and the same bytes are good once more.
func TestARealRuntimeTakesTheSameBytesAgain(t *testing.T) {
	by, other := pair(t, key.Ed25519, "//Ferdie"), pair(t, key.Sr25519, "//Alice")
	b := start(t, by, other)
	first := b.sign(by, b.remark("once"), 0, b.mortal(64))
	b.send(first)
	to := ss58.Encode([]byte(other.Account()), ss58.Generic)
	gone := b.send(b.sign(by, b.call("Balances", "transfer_all", `{"dest":{"Id":"`+to+`"},"keep_alive":false}`), 1, b.mortal(64)))
	if happened := strings.Join(b.events(gone), " "); !strings.Contains(happened, "System.KilledAccount") || b.nonce(by) != 0 {
		t.Fatalf("the account has the nonce %d, and the events are %s", b.nonce(by), happened)
	}
	if said, _ := b.Validate(first); said == "OK" {
		t.Error("without an account its bytes are good")
	}
	back := ss58.Encode([]byte(by.Account()), ss58.Generic)
	b.send(b.sign(other, b.call("Balances", "transfer", `{"dest":{"Id":"`+back+`"},"value":100000000000}`), 0, b.mortal(64)))
	if said, _ := b.Validate(first); said != "OK" {
		t.Errorf("in the account's next life the runtime says %s of the same bytes", said)
	}
	if b.send(first); b.nonce(by) != 1 {
		t.Errorf("the nonce is %d", b.nonce(by))
	}
}
