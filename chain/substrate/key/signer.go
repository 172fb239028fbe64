package key

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain"
)

// Kind is what a key signs with.
type Kind uint8

// The kinds of keys. The first three are variants of MultiSignature, in its order, and their accounts have 32 bytes.
const (
	Ed25519 Kind = iota
	Sr25519
	ECDSA    // secp256k1 over Blake2-256; the account is the Blake2-256 of the compressed public key
	Ethereum // secp256k1 over Keccak-256; the account is the last 20 bytes of the Keccak-256 of the public key
)

var kinds = [...]string{"ed25519", "sr25519", "ecdsa", "ethereum"}

// String returns the name that ParseKind takes.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ParseKind is the inverse of String.
func ParseKind(text string) (Kind, error) {
	for k, name := range kinds {
		if name == text {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("%w: %q is no kind of key: name one of ed25519, sr25519, ecdsa, ethereum", chain.ErrKey, text)
}

// SignatureSize returns how many bytes a signature has.
func (k Kind) SignatureSize() int {
	if k == ECDSA || k == Ethereum {
		return 65
	}
	return 64
}

// Signer signs for one account and sends nothing. Its methods are safe for concurrent use.
type Signer interface {
	Kind() Kind
	// Account is what the chain calls the account: 32 bytes, or 20 of an Ethereum key.
	Account() chain.Account
	// Sign returns a signature of a payload, of Kind's size. The error wraps chain.ErrKey if the account cannot sign, and never
	// has a secret in it. Two signatures of one payload may differ.
	Sign(ctx context.Context, payload []byte) ([]byte, error)
}
