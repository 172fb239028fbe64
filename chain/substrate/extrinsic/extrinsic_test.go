package extrinsic_test

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/internal/runtimetest"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
)

func runtime(t testing.TB, m runtimetest.Runtime) *metadata.Runtime {
	t.Helper()
	rt, err := metadata.Decode(m.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func codec(t testing.TB, m runtimetest.Runtime) *extrinsic.Codec {
	t.Helper()
	c, err := extrinsic.For(runtime(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pair(t testing.TB, kind key.Kind) *key.Pair {
	t.Helper()
	p, err := key.FromURI(kind, "//Alice")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func remark(text string) extrinsic.Payload {
	p := extrinsic.Payload{
		Call: append([]byte{0, 1}, scale.AppendText(nil, text)...), Nonce: 7, Tip: big.NewInt(1000000), SpecVersion: 1234, TransactionVersion: 56,
		Genesis: [32]byte{1}, Birth: [32]byte{2},
	}
	p.Era, _ = extrinsic.BornAt(64, 1000)
	return p
}

// What was signed is read again, verifies, and for nothing else.
func TestSignedExtrinsicsComeBack(t *testing.T) {
	t.Parallel()
	ethereum := runtimetest.Small(16)
	ethereum.Address, ethereum.Signature = runtimetest.Account20, runtimetest.EthereumSignature
	for kind, m := range map[key.Kind]runtimetest.Runtime{
		key.Ed25519: runtimetest.Small(14), key.Sr25519: runtimetest.Small(15), key.ECDSA: runtimetest.Small(16), key.Ethereum: ethereum,
	} {
		c, by := codec(t, m), pair(t, kind)
		for _, text := range []string{"hello", strings.Repeat("long", 16<<10)} { // above 256 bytes a hash is signed
			p := remark(text)
			b, err := c.Sign(t.Context(), p, by)
			if err != nil {
				t.Fatal(kind, err)
			}
			e, err := c.Decode(b)
			if err != nil {
				t.Fatal(kind, err)
			}
			if !e.Signed || e.Version != 4 || e.Account != by.Account() || e.Era != p.Era || e.Nonce != 7 || e.Tip.Cmp(p.Tip) != 0 || string(e.Call) != string(p.Call) {
				t.Errorf("%v: %+v", kind, e)
			}
			if err := c.Verify(e, 1234, 56, p.Genesis, p.Birth); err != nil {
				t.Errorf("%v: %v", kind, err)
			}
			for what, err := range map[string]error{
				"another version":             c.Verify(e, 1235, 56, p.Genesis, p.Birth),
				"another transaction version": c.Verify(e, 1234, 57, p.Genesis, p.Birth),
				"another genesis":             c.Verify(e, 1234, 56, [32]byte{9}, p.Birth),
				"another branch":              c.Verify(e, 1234, 56, p.Genesis, [32]byte{9}),
			} {
				if !errors.Is(err, extrinsic.ErrSignature) {
					t.Errorf("%v: %s is taken: %v", kind, what, err)
				}
			}
			flipped := append([]byte{}, b...)
			flipped[len(b)-1] ^= 1
			if e, err := c.Decode(flipped); err != nil || !errors.Is(c.Verify(e, 1234, 56, p.Genesis, p.Birth), extrinsic.ErrSignature) {
				t.Errorf("%v: another call is taken: %v", kind, err)
			}
		}
	}
}

// Z15: what conch does not know is left out if it is empty or an Option; else the runtime is refused, with both names.
func TestUnknownExtensions(t *testing.T) {
	t.Parallel()
	with := func(e runtimetest.Extension) error {
		m := runtimetest.Small(15)
		m.Extensions = append(m.Extensions, e)
		_, err := extrinsic.For(runtime(t, m))
		return err
	}
	for _, e := range []runtimetest.Extension{
		{Name: "WeightReclaim", Value: runtimetest.Unit, Implicit: runtimetest.Unit},
		{Name: "AsPerson", Value: runtimetest.Option, Implicit: runtimetest.Unit},
		{Name: "AsHash", Value: runtimetest.Option, Implicit: runtimetest.Option},
	} {
		if err := with(e); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	for want, e := range map[string]runtimetest.Extension{
		"CheckCreatedAtHeight has the value u32":          {Name: "CheckCreatedAtHeight", Value: runtimetest.U32, Implicit: runtimetest.Unit},
		"CheckMore has the implicit value [u8; 32]":       {Name: "CheckMore", Value: runtimetest.Unit, Implicit: runtimetest.Hash},
		"CheckList has the value Vec<u8>":                 {Name: "CheckList", Value: runtimetest.Bytes, Implicit: runtimetest.Unit},
		"CheckGenesis has the implicit value u32":         {Name: "CheckGenesis", Value: runtimetest.Unit, Implicit: runtimetest.U32},
		"it has 2 extensions CheckNonce":                  {Name: "CheckNonce", Value: runtimetest.Compact, Implicit: runtimetest.Unit},
		"ChargeTransactionPayment has the value [u8; 32]": {Name: "ChargeTransactionPayment", Value: runtimetest.Hash, Implicit: runtimetest.Unit},
	} {
		if err := with(e); !errors.Is(err, extrinsic.ErrExtension) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	m := runtimetest.Small(15)
	if m.Extrinsics = 5; !errors.Is(second(extrinsic.For(runtime(t, m))), extrinsic.ErrExtension) {
		t.Error("a runtime without extrinsics of version 4 is taken")
	}
}

func second[V any](_ V, err error) error { return err }

// Z14: a stored call keeps its meaning, with other numbers in another runtime, or it is held.
func TestStoredCallsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	arguments := scale.AppendText(nil, "hello")
	n, err := extrinsic.Name(runtime(t, runtimetest.Small(15)), "System", "remark", arguments)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := extrinsic.ParseNamed(n.Data())
	if err != nil || string(stored.Data()) != string(n.Data()) {
		t.Fatal(stored, err)
	}
	moved := runtimetest.Small(16)
	moved.System, moved.Remark = 9, 5
	if b, err := stored.Call(runtime(t, moved)); err != nil || string(b) != string(append([]byte{9, 5}, arguments...)) {
		t.Errorf("%x %v", b, err)
	}
	moved.Argument = "other"
	if _, err := stored.Call(runtime(t, moved)); !errors.Is(err, extrinsic.ErrShape) {
		t.Error(err)
	}
	moved.Argument, moved.Of = "remark", runtimetest.Notes
	if _, err := stored.Call(runtime(t, moved)); !errors.Is(err, extrinsic.ErrShape) {
		t.Error(err)
	}
	stored.Name = "gone"
	if _, err := stored.Call(runtime(t, moved)); !errors.Is(err, metadata.ErrUnknown) {
		t.Error(err)
	}
	data := n.Data()
	for i := range data {
		if _, err := extrinsic.ParseNamed(data[:i]); !errors.Is(err, scale.ErrMalformed) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
	if _, err := extrinsic.Name(runtime(t, moved), "System", "remark", []byte{200}); !errors.Is(err, scale.ErrMalformed) {
		t.Error(err)
	}
}

// The other kinds of extrinsics in a block are read as what they are.
func TestUnsignedExtrinsics(t *testing.T) {
	t.Parallel()
	c := codec(t, runtimetest.Small(15))
	for head, want := range map[byte]extrinsic.Extrinsic{4: {Version: 4, Call: []byte{0, 1, 0}}, 5: {Version: 5, Call: []byte{0, 1, 0}}, 0x45: {Version: 5}} {
		e, err := c.Decode([]byte{16, head, 0, 1, 0})
		if err != nil || e.Signed || e.Version != want.Version || string(e.Call) != string(want.Call) {
			t.Errorf("0x%x: %+v %v", head, e, err)
		}
		if !errors.Is(c.Verify(e, 0, 0, [32]byte{}, [32]byte{}), extrinsic.ErrSignature) {
			t.Errorf("0x%x verifies", head)
		}
	}
	for _, bad := range []string{"", "00", "0403", "0804", "0404ff", "0c840000", "04c4"} {
		b, _ := hex.DecodeString(bad)
		if _, err := c.Decode(b); !errors.Is(err, extrinsic.ErrMalformed) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestWhatCannotBeSigned(t *testing.T) {
	t.Parallel()
	c := codec(t, runtimetest.Small(15))
	if _, err := c.Sign(t.Context(), remark("hello"), pair(t, key.Ethereum)); !errors.Is(err, chain.ErrKey) {
		t.Error(err)
	}
	for what, change := range map[string]func(*extrinsic.Payload){
		"no call":          func(p *extrinsic.Payload) { p.Call = nil },
		"half a call":      func(p *extrinsic.Payload) { p.Call = []byte{0} },
		"an unknown call":  func(p *extrinsic.Payload) { p.Call = []byte{9, 9} },
		"a negative tip":   func(p *extrinsic.Payload) { p.Tip = big.NewInt(-1) },
		"a tip of 129 bit": func(p *extrinsic.Payload) { p.Tip = new(big.Int).Lsh(big.NewInt(1), 128) },
	} {
		p := remark("hello")
		change(&p)
		if _, err := c.Sign(t.Context(), p, pair(t, key.Sr25519)); !errors.Is(err, extrinsic.ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	c := codec(f, runtimetest.Small(15))
	b, err := c.Sign(f.Context(), remark("hello"), pair(f, key.Ed25519))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{16, 5, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := c.Decode(b)
		if err != nil {
			if !errors.Is(err, extrinsic.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		_ = c.Verify(e, 1, 1, [32]byte{}, [32]byte{})
	})
}

func BenchmarkSign(b *testing.B) {
	for _, kind := range []key.Kind{key.Ed25519, key.Sr25519} {
		b.Run(kind.String(), func(b *testing.B) {
			c, by, p := codec(b, runtimetest.Small(15)), pair(b, kind), remark("hello")
			for b.Loop() {
				if _, err := c.Sign(b.Context(), p, by); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	c := codec(b, runtimetest.Small(15))
	signed, err := c.Sign(b.Context(), remark("hello"), pair(b, key.Sr25519))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Decode(signed); err != nil {
			b.Fatal(err)
		}
	}
}
