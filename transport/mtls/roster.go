package mtls

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// roster says whose a certificate is. It does not change.
type roster struct {
	pinned map[Fingerprint]string    // the peers that are known by their key
	keys   map[string]Fingerprint    // the same by name
	roots  map[string]*x509.CertPool // the peers that are known by a CA
}

// who returns the name that a certificate proves, or a *RefusalError that blames the first thing that is wrong. The TLS
// handshake has shown that the other side has the key.
func (r *roster) who(chain []*x509.Certificate, now time.Time) (string, error) {
	if len(chain) == 0 {
		return "", refuse("", NoCertificate, "it showed no certificate")
	}
	leaf := chain[0]
	if name, ok := r.pinned[fingerprintOf(leaf)]; ok {
		if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
			return "", expired(name, leaf)
		}
		return name, nil
	}
	var named []string
	var wrong error
	for _, name := range slices.Compact(slices.Sorted(slices.Values(leaf.DNSNames))) { // a pattern such as *.example is no name
		if _, ok := r.roots[name]; ok {
			named = append(named, name)
		} else if want, ok := r.keys[name]; ok && wrong == nil {
			wrong = refuse(name, WrongKey, "its key is %v, and pinned is %v", fingerprintOf(leaf), want)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], r.verify(named[0], chain, now)
	case len(named) > 1:
		return "", refuse("", OtherName, "the certificate has the names of %d peers", len(named))
	case wrong != nil:
		return "", wrong
	default:
		return "", refuse("", UnknownKey, "no peer has the key %v, nor any of the names in the certificate", fingerprintOf(leaf))
	}
}

// verify checks that a peer's CA has signed a certificate.
func (r *roster) verify(name string, chain []*x509.Certificate, now time.Time) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	// A node is both a client and a server, and CAs tend to write one of them.
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: r.roots[name], Intermediates: between, CurrentTime: now, KeyUsages: usages})
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return expired(name, invalid.Cert)
	}
	if err != nil {
		return &RefusalError{Peer: name, Reason: OtherCA, Err: err}
	}
	return nil
}

func expired(name string, c *x509.Certificate) error {
	return refuse(name, Expired, "a certificate is valid from %v to %v", c.NotBefore.UTC(), c.NotAfter.UTC())
}
