package key

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/sha3"

	"github.com/conchhq/conch/chain"
)

// Pair is a Signer with a key in memory. Its prints and JSON show the public key.
type Pair struct {
	kind    Kind
	account chain.Account
	public  []byte
	sign    func(payload []byte) ([]byte, error) // a function, so that no print shows the key
}

var _ Signer = (*Pair)(nil)

// Kind implements Signer.
func (p *Pair) Kind() Kind { return p.kind }

// Account implements Signer.
func (p *Pair) Account() chain.Account { return p.account }

// Public returns the public key: 32 bytes, or 33 of a curve of two coordinates.
func (p *Pair) Public() []byte { return bytes.Clone(p.public) }

// Sign implements Signer.
func (p *Pair) Sign(_ context.Context, payload []byte) ([]byte, error) {
	signature, err := p.sign(payload)
	if err != nil {
		return nil, fmt.Errorf("%w %v: %w", chain.ErrKey, p.account, err)
	}
	return signature, nil
}

// String names the key.
func (p *Pair) String() string { return p.kind.String() + " key 0x" + hex.EncodeToString(p.public) }

// Format writes String, for every verb.
func (p *Pair) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// MarshalText returns String.
func (p *Pair) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func newEd25519(seed []byte) *Pair {
	key := ed25519.NewKeyFromSeed(seed)
	public := key[32:]
	return &Pair{Ed25519, chain.Account(public), public, func(payload []byte) ([]byte, error) { return ed25519.Sign(key, payload), nil }}
}

// signing is what all runtimes sign with sr25519 in.
var signing = sr25519.NewSigningContext([]byte("substrate"))

func newSr25519(secret *sr25519.SecretKey) *Pair {
	key := secret.KeyPair()
	public, _ := key.PublicKey().MarshalBinary()
	return &Pair{Sr25519, chain.Account(public), public, func(payload []byte) ([]byte, error) {
		signature, err := key.Sign(rand.Reader, signing.NewTranscriptBytes(payload))
		if err != nil {
			return nil, err
		}
		return signature.MarshalBinary()
	}}
}

// newSecp makes a key of kind ECDSA or Ethereum. The secret is a number from 1 to below the order of the curve.
func newSecp(kind Kind, secret []byte) (*Pair, error) {
	var scalar secp256k1.ModNScalar
	if overflow := scalar.SetByteSlice(secret); len(secret) != 32 || overflow || scalar.IsZero() {
		return nil, fmt.Errorf("%w: it is no secret of %v", chain.ErrKey, kind)
	}
	key := secp256k1.NewPrivateKey(&scalar)
	public := key.PubKey()
	return &Pair{kind, secpAccount(kind, public), public.SerializeCompressed(), func(payload []byte) ([]byte, error) {
		compact := ecdsa.SignCompact(key, digest(kind, payload), false)
		return append(compact[1:], compact[0]-27), nil // r, s, and which of the keys it is
	}}, nil
}

func secpAccount(kind Kind, public *secp256k1.PublicKey) chain.Account {
	if kind == Ethereum {
		sum := keccak(public.SerializeUncompressed()[1:])
		return chain.Account(sum[12:])
	}
	sum := blake2b.Sum256(public.SerializeCompressed())
	return chain.Account(sum[:])
}

func digest(kind Kind, payload []byte) []byte {
	if kind == Ethereum {
		return keccak(payload)
	}
	sum := blake2b.Sum256(payload)
	return sum[:]
}

func keccak(b []byte) []byte {
	h := sha3.NewLegacyKeccak256()
	_, _ = h.Write(b)
	return h.Sum(nil)
}

// Verify reports whether a signature of a payload is one of the account.
func Verify(kind Kind, account chain.Account, payload, signature []byte) bool {
	if len(signature) != kind.SignatureSize() {
		return false
	}
	switch kind {
	case Ed25519:
		return len(account) == 32 && ed25519.Verify(ed25519.PublicKey(account), payload, signature)
	case Sr25519:
		public, err := sr25519.NewPublicKeyFromBytes([]byte(account))
		if err != nil {
			return false
		}
		s, err := sr25519.NewSignatureFromBytes(signature)
		return err == nil && public.Verify(signing.NewTranscriptBytes(payload), s)
	case ECDSA, Ethereum:
		if signature[64] > 3 {
			return false
		}
		compact := append([]byte{signature[64] + 27}, signature[:64]...)
		public, _, err := ecdsa.RecoverCompact(compact, digest(kind, payload))
		return err == nil && secpAccount(kind, public) == account
	}
	return false
}
