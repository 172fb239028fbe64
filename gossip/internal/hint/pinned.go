package hint

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// Pinned is a Scheme whose subjects are fingerprints: the SHA-256 of a node's public key, by which a transport knows it
// too. A signature is the public key of Ed25519 and its signature, so that a node that knows a fingerprint
// can check what its owner says, and needs no CA. It is safe for concurrent use if the signer is.
type Pinned struct {
	signer crypto.Signer
	public ed25519.PublicKey
}

// NewPinned returns the scheme of a node. The signer has its key, and need not show it. The error says that the key is
// of another kind than Ed25519.
func NewPinned(signer crypto.Signer) (Pinned, error) {
	public, is := signer.Public().(ed25519.PublicKey)
	if !is || len(public) != ed25519.PublicKeySize {
		return Pinned{}, fmt.Errorf("gossip: a node's key has to be one of Ed25519, as \"conch identity new\" makes it, and this is %T", signer.Public())
	}
	return Pinned{signer: signer, public: public}, nil
}

// Subject returns the fingerprint of the key.
func (p Pinned) Subject() wire.Subject { return fingerprint(p.public) }

// Sign implements Scheme. A signer that fails gives no signature, and then nobody takes the statement.
func (p Pinned) Sign(b []byte) []byte {
	signature, err := p.signer.Sign(rand.Reader, b, crypto.Hash(0))
	if err != nil {
		return nil
	}
	return append(append(make([]byte, 0, pinnedSize), p.public...), signature...)
}

// Verify implements Scheme.
func (Pinned) Verify(by wire.Subject, b, signature []byte) bool {
	if len(signature) != pinnedSize {
		return false
	}
	public := ed25519.PublicKey(signature[:ed25519.PublicKeySize])
	return fingerprint(public) == by && ed25519.Verify(public, b, signature[ed25519.PublicKeySize:])
}

const pinnedSize = ed25519.PublicKeySize + ed25519.SignatureSize

// spki begins the SubjectPublicKeyInfo of every key of Ed25519 (RFC 8410).
const spki = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

func fingerprint(public ed25519.PublicKey) wire.Subject {
	return sha256.Sum256(append([]byte(spki), public...))
}
