package mtls

import (
	"crypto"
	"errors"
	"fmt"
	"io"
)

// Signer returns a signer with the identity's key, for what a node says beside its connections, such as gossip (Config.Key).
// It does not show the key. What it signs begins with words of its own, so that nothing of it can be taken for a
// signature of TLS.
func (i Identity) Signer() crypto.Signer { return signer{i} }

type signer struct{ identity Identity }

// Public implements crypto.Signer.
func (s signer) Public() crypto.PublicKey {
	if s.identity.certificate.Leaf == nil {
		return nil
	}
	return s.identity.certificate.Leaf.PublicKey
}

// Sign implements crypto.Signer.
func (s signer) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	key, is := s.identity.certificate.PrivateKey.(crypto.Signer)
	if !is {
		return nil, errors.New("the identity has no key")
	}
	return key.Sign(random, digest, opts)
}

// Format implements fmt.Formatter, as the identity does: no verb prints the key.
func (s signer) Format(f fmt.State, verb rune) { s.identity.Format(f, verb) }
