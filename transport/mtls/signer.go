package mtls

import (
	"crypto"
	"io"
)

// Signer returns a signer with the identity's key, for what a node says beside its connections, such as gossip.NewPinned.
// It does not show the key. What it signs begins with words of its own, so that nothing of it can be taken for a
// signature of TLS.
func (i Identity) Signer() crypto.Signer {
	key, _ := i.certificate.PrivateKey.(crypto.Signer) // nil in the zero Identity alone
	return signer{key}
}

type signer struct{ key crypto.Signer }

// Public implements crypto.Signer.
func (s signer) Public() crypto.PublicKey { return s.key.Public() }

// Sign implements crypto.Signer.
func (s signer) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.key.Sign(random, digest, opts)
}
