package gossip

import (
	"crypto/ed25519"

	"github.com/conchhq/conch/gossip/wire"
)

// Ed25519 is a Scheme whose subjects are public keys. It is safe for concurrent use.
type Ed25519 struct{ Key ed25519.PrivateKey }

// Subject returns the public key.
func (e Ed25519) Subject() (s wire.Subject) {
	copy(s[:], e.Key[ed25519.SeedSize:])
	return s
}

// Sign implements Scheme.
func (e Ed25519) Sign(b []byte) []byte { return ed25519.Sign(e.Key, b) }

// Verify implements Scheme.
func (Ed25519) Verify(by wire.Subject, b, signature []byte) bool {
	return ed25519.Verify(by[:], b, signature)
}
