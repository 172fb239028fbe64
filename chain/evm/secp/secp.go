// Package secp signs and verifies 32 bytes as an EVM contract does: secp256k1, and an address that is recovered from the
// signature. With cgo it is libsecp256k1, without it a library in Go that takes several times as long.
package secp

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// SignatureSize is the length of a signature: r, s and the recovery id, 0 or 1.
const SignatureSize = crypto.SignatureLength

// Key is a private key. It is safe for concurrent use.
type Key struct{ secret *ecdsa.PrivateKey }

// NewKey makes a key of 32 bytes. Few of them are none: the error says so.
func NewKey(secret []byte) (Key, error) {
	k, err := crypto.ToECDSA(secret)
	if err != nil {
		return Key{}, fmt.Errorf("secp: %w", err)
	}
	return Key{k}, nil
}

// Address returns the key's address.
func (k Key) Address() [20]byte { return crypto.PubkeyToAddress(k.secret.PublicKey) }

// Sign signs a hash.
func (k Key) Sign(hash [32]byte) ([]byte, error) { return crypto.Sign(hash[:], k.secret) }

// Verify reports whether the key of an address has signed a hash. A signature has one form: one with a high s is refused.
func Verify(address [20]byte, hash [32]byte, signature []byte) bool {
	if len(signature) != SignatureSize {
		return false
	}
	r, s := common.BytesToHash(signature[:32]).Big(), common.BytesToHash(signature[32:64]).Big()
	if !crypto.ValidateSignatureValues(signature[64], r, s, true) {
		return false
	}
	public, err := crypto.Ecrecover(hash[:], signature)
	return err == nil && common.BytesToAddress(crypto.Keccak256(public[1:])[12:]) == common.Address(address)
}
