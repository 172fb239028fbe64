package standin

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Scheme is how members sign.
type Scheme struct {
	ledger.Scheme

	// Key returns the keys of a name.
	Key func(name string) Key
	// Stamp returns keys of the same account that sign with one nonce for all.
	Stamp func(name string) Key
}

// Key signs for an account. It is safe for concurrent use.
type Key struct {
	Account ledger.Account
	sign    func(ledger.Hash) ([]byte, error)
}

// Sign implements sequencer.Keys.
func (k Key) Sign(h ledger.Hash) ([]byte, error) { return k.sign(h) }

// Ed25519 is the scheme ledger.Plain.
func Ed25519() Scheme {
	key := func(name string) ed25519.PrivateKey {
		seed := sha256.Sum256([]byte(name))
		return ed25519.NewKeyFromSeed(seed[:])
	}
	account := func(k ed25519.PrivateKey) ledger.Account { return ledger.Account(k[32:]) }
	return Scheme{
		Scheme: ledger.Plain{},
		Key: func(name string) Key {
			k := key(name)
			return Key{account(k), func(h ledger.Hash) ([]byte, error) { return ed25519.Sign(k, h[:]), nil }}
		},
		Stamp: func(name string) Key {
			k := key(name)
			return Key{account(k), stampEd25519(k)}
		},
	}
}

// order25519 is that of the group: 2^252 + 27742317777372353535851937790883648493.
var order25519, _ = new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)

// stampEd25519 takes the nonce out of one good signature: s is the nonce plus the secret times H(R, A, message).
func stampEd25519(k ed25519.PrivateKey) func(ledger.Hash) ([]byte, error) {
	secret := sha512.Sum512(k.Seed())
	secret[0], secret[31] = secret[0]&248, secret[31]&63|64
	a := little(secret[:32])
	first := ed25519.Sign(k, make([]byte, 32))
	r := first[:32]
	factor := func(message []byte) *big.Int {
		h := sha512.Sum512(slices.Concat(r, k[32:], message))
		n := little(h[:])
		return n.Mul(n, a)
	}
	nonce := little(first[32:])
	nonce.Sub(nonce, factor(make([]byte, 32)))
	return func(h ledger.Hash) ([]byte, error) {
		s := factor(h[:])
		s.Add(s, nonce).Mod(s, order25519)
		out := make([]byte, 32)
		s.FillBytes(out)
		slices.Reverse(out)
		return slices.Concat(r, out), nil
	}
}

// little reads a number whose first byte is the lowest.
func little(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// Secp256k1 has the hashes of ledger.Plain, and the signatures of an EVM ledger.
func Secp256k1() Scheme {
	key := func(name string) (*evmtest.Key, [32]byte) {
		secret := sha256.Sum256([]byte(name))
		k, err := evmtest.KeyOf(secret[:])
		if err != nil {
			panic(err) //nolint:forbidigo // one name in 2^128 has no key, and the bench chooses its names
		}
		return k, secret
	}
	return Scheme{
		Scheme: recovering{},
		Key: func(name string) Key {
			k, _ := key(name)
			return Key{ledger.Account(k.Account()), func(h ledger.Hash) ([]byte, error) { return k.SignHash(h) }}
		},
		Stamp: func(name string) Key {
			k, secret := key(name)
			return Key{ledger.Account(k.Account()), stampSecp256k1(k, secret)}
		},
	}
}

// recovering is the scheme of an EVM ledger, as far as time is concerned.
type recovering struct{ ledger.Plain }

// Verify implements ledger.Scheme.
func (recovering) Verify(a ledger.Account, h ledger.Hash, signature []byte) bool {
	return evmtest.Verify(chain.Account(a), h, signature)
}

// order256k1 is that of the group.
var order256k1, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)

// stampSecp256k1 takes the nonce out of one good signature: s is (hash + r times the secret) / nonce.
func stampSecp256k1(k *evmtest.Key, secret [32]byte) func(ledger.Hash) ([]byte, error) {
	first, err := k.SignHash(ledger.Hash{1})
	if err != nil {
		return func(ledger.Hash) ([]byte, error) { return nil, err }
	}
	r := new(big.Int).SetBytes(first[:32])
	r.Mul(r, new(big.Int).SetBytes(secret[:]))
	sum := func(h ledger.Hash) *big.Int {
		n := new(big.Int).SetBytes(h[:])
		return n.Add(n, r)
	}
	inverse := new(big.Int).ModInverse(sum(ledger.Hash{1}), order256k1)
	inverse.Mul(inverse, new(big.Int).SetBytes(first[32:64])).Mod(inverse, order256k1)
	half := new(big.Int).Rsh(order256k1, 1)
	return func(h ledger.Hash) ([]byte, error) {
		s, v := sum(h), first[64]
		if s.Mul(s, inverse).Mod(s, order256k1); s.Cmp(half) > 0 { // the other root has the other recovery id
			s.Sub(order256k1, s)
			v ^= 1
		}
		out := append(slices.Clone(first[:32]), make([]byte, 33)...)
		s.FillBytes(out[32:64])
		out[64] = v
		return out, nil
	}
}
