package evm_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// malleated is a signature with the negative of s, which recovers to the same address.
func malleated(s []byte) []byte {
	if len(s) != 65 {
		return s
	}
	high := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(s[32:64]))
	high.FillBytes(s[32:64])
	s[64] ^= 27 ^ 28
	return s
}

// broken are ways to spoil a signature.
var broken = []struct {
	name   string
	change func([]byte) []byte
}{
	{"none", func([]byte) []byte { return nil }},
	{"short", func(s []byte) []byte { return s[:len(s)-1] }},
	{"long", func(s []byte) []byte { return append(s, 0) }},
	{"the high s", malleated},
	{"the high s in two words", func(s []byte) []byte { return append(malleated(s)[:64], 28) }},
	{"the other v", func(s []byte) []byte { s[64] ^= 27 ^ 28; return s }},
	{"v is 0 or 1", func(s []byte) []byte { s[64] -= 27; return s }},
	{"v is 29", func(s []byte) []byte { s[64] = 29; return s }},
	{"r is 0", func(s []byte) []byte { clear(s[:32]); return s }},
	{"s is 0", func(s []byte) []byte { clear(s[32:64]); return s }},
	{"r is the order", func(s []byte) []byte { crypto.S256().Params().N.FillBytes(s[:32]); return s }},
	{"s is the order", func(s []byte) []byte { crypto.S256().Params().N.FillBytes(s[32:64]); return s }},
	{"s is just above the half", func(s []byte) []byte {
		half := new(big.Int).Rsh(crypto.S256().Params().N, 1)
		half.Add(half, big.NewInt(1)).FillBytes(s[32:64])
		return s
	}},
	{"s is changed", func(s []byte) []byte { s[63]++; return s }},
	{"r is changed", func(s []byte) []byte { s[31]++; return s }},
	{"a bit above s", func(s []byte) []byte { s[32] |= 0x80; s[64] = 27; return s }},
	{"another bit above s", func(s []byte) []byte { s[32] |= 0x80; s[64] = 28; return s }},
	{"zeros", func(s []byte) []byte { clear(s); return s }},
}

// Q3: what is no signature in its one form counts neither here nor in the contract: not as a grant, not as an
// endorsement, and not as a cancellation.
func TestSignatures(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 2, 1)
	owner, by := f.Members[0], f.Members[1]
	good := func(n uint64) ledger.Entry {
		e := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: owner.Account, Sequence: ledger.Sequence{Counter: n}}}}
		assembled := f.Scheme.Assembled(f.Contract, e.Attempt)
		e.Endorsements = []ledger.Endorsement{{Member: 1, Signature: by.Sign(assembled)}}
		e.Grant = ledger.Grant{Assembled: assembled, Coordinator: by.Account, ValidUntil: 1 << 40}
		e.Grant.Signature = owner.Sign(f.Scheme.Granted(f.Contract, e.Grant))
		return e
	}
	for i, spoil := range broken {
		e, n := good(uint64(i)), uint64(i)
		granted := f.Scheme.Granted(f.Contract, e.Grant)
		bad := spoil.change(slices.Clone(e.Grant.Signature))
		if !f.Scheme.Verify(owner.Account, granted, e.Grant.Signature) || f.Scheme.Verify(owner.Account, granted, bad) {
			t.Errorf("%s: a good signature does not count, or a bad one does", spoil.name)
		}
		badGrant, badEndorsement := e, e
		badGrant.Grant.Signature = bad
		badEndorsement.Endorsements = []ledger.Endorsement{{Member: 1, Signature: spoil.change(slices.Clone(e.Endorsements[0].Signature))}}
		in := ledger.Intent{Owner: owner.Account, Sequence: ledger.Sequence{Counter: 1000 + n}}
		cancel := func(change func([]byte) []byte) *ledger.Cancellation {
			return &ledger.Cancellation{Intent: in, Signature: change(owner.Sign(f.Scheme.Cancelled(f.Contract, in)))}
		}
		facts := at.Block(
			ledger.Sent{By: by.Account, Entries: []ledger.Entry{badGrant, badEndorsement, e}},
			ledger.Sent{By: by.Account, Cancel: cancel(spoil.change)},
			ledger.Sent{By: by.Account, Cancel: cancel(func(s []byte) []byte { return s })},
		)
		want := []ledger.Reason{ledger.NotGranted, ledger.NotEndorsed, ledger.Taken, ledger.NotGranted, ledger.Taken}
		for j, f := range facts {
			if f.Skipped != want[j] {
				t.Errorf("%s: number %d is %v, want %v", spoil.name, j, f.Skipped, want[j])
			}
		}
	}
}

// An account that is no address has signed nothing, and nobody's signature is not that of the address 0.
func TestNobodySigns(t *testing.T) {
	t.Parallel()
	a := named(t, "a")
	h := hashOf("h")
	good := a.sign(h)
	for _, who := range []ledger.Account{"", a.name() + "\x00", a.name()[:19], ledger.Account(make([]byte, 20))} {
		for _, s := range [][]byte{good, make([]byte, 65), nil} {
			if (evm.Scheme{}).Verify(who, h, s) {
				t.Errorf("%v has signed by %x", who, s)
			}
		}
	}
}

// Q3: of the high values of s, two words can hold those below 2^255. A key is made for which the signature of an attempt
// has one: it does not count, and the same signature with the low s does.
func TestAHighSInTwoWords(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	c, all, creator := declare(t, s.node, 2, 1)
	var nonce hexutil.Uint64
	s.call(t, &nonce, "eth_getTransactionCount", creator.address(), "latest")
	c.Address = crypto.CreateAddress(creator.address(), uint64(nonce)).Hex()
	a := ledger.Attempt{Intent: ledger.Intent{Owner: all[0].name(), Sequence: ledger.Sequence{Counter: 1}}}
	assembled := evm.Scheme{}.Assembled(c, a)

	curve, n := crypto.S256(), crypto.S256().Params().N
	high := new(big.Int).Add(new(big.Int).Rsh(n, 1), big.NewInt(1))
	k := big.NewInt(0x5eed)
	x, y := curve.ScalarBaseMult(k.Bytes())
	d := new(big.Int).Mul(high, k) // s = (z + r d) / k, solved for d
	d.Sub(d, new(big.Int).SetBytes(assembled[:]))
	d.Mul(d, new(big.Int).ModInverse(x, n)).Mod(d, n)
	key, err := crypto.ToECDSA(d.FillBytes(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	member := account{key}
	c.Members = []ledger.Account{all[0].name(), member.name()}
	c.Committee = c.Members
	at, _ := create(t, s.node, creator, &c, evm.Creation)
	p := &place{t: t, node: s.node, at: at, contract: c, by: map[ledger.Account]account{creator.name(): creator}}

	bad := make([]byte, 65)
	x.FillBytes(bad[:32])
	high.FillBytes(bad[32:64])
	bad[64] = 27 + byte(y.Bit(0))
	good := malleated(slices.Clone(bad))
	if bad[32] >= 0x80 || (evm.Scheme{}).Verify(member.name(), assembled, bad) || !(evm.Scheme{}).Verify(member.name(), assembled, good) {
		t.Errorf("the high s counts, or the low one does not: %x", bad)
	}
	for _, by := range []struct {
		signature []byte
		want      ledger.Reason
	}{{bad, ledger.NotEndorsed}, {good, ledger.Taken}} {
		e := ledger.Entry{Attempt: a, Endorsements: []ledger.Endorsement{{Member: 1, Signature: by.signature}}}
		e.Grant = ledger.Grant{Assembled: assembled, Coordinator: creator.name(), ValidUntil: 1 << 40}
		e.Grant.Signature = all[0].sign(evm.Scheme{}.Granted(c, e.Grant))
		if facts := p.Block(ledger.Sent{By: creator.name(), Entries: []ledger.Entry{e}}); facts[0].Skipped != by.want {
			t.Errorf("%x: %v, want %v", by.signature, facts[0].Skipped, by.want)
		}
	}
}
