package mtls

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// roster says whose a certificate is. It does not change.
type roster struct {
	self   string                    // the node's own name
	pinned map[Fingerprint]string    // the peers that are known by their key
	keys   map[string]Fingerprint    // the same by name
	roots  map[string]*x509.CertPool // the peers that are known by a CA
	guests *x509.CertPool            // of anybody else; nil if nobody else comes
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
	all := slices.Compact(slices.Sorted(slices.Values(leaf.DNSNames)))
	for _, name := range all { // a pattern such as *.example is no name
		if _, ok := r.roots[name]; ok {
			named = append(named, name)
		} else if want, ok := r.keys[name]; ok && wrong == nil {
			wrong = refuse(name, WrongKey, "its key is %v, and pinned is %v", fingerprintOf(leaf), want)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], verify(named[0], r.roots[named[0]], chain, now)
	case len(named) > 1:
		return "", refuse("", OtherName, "the certificate has the names of %d peers", len(named))
	case wrong != nil:
		return "", wrong
	case r.guests != nil && len(all) > 0:
		return r.guest(all, chain, now)
	default:
		return "", refuse("", UnknownKey, "no peer has the key %v, nor any of the names in the certificate", fingerprintOf(leaf))
	}
}

// guest returns the name of a node that is no peer. One that is refused is a stranger, whatever it calls itself.
func (r *roster) guest(names []string, chain []*x509.Certificate, now time.Time) (string, error) {
	name := names[0]
	switch {
	case len(names) > 1:
		return "", refuse("", OtherName, "the certificate has %d names, and that of a guest has one", len(names))
	case !validName.MatchString(name):
		return "", refuse("", OtherName, "the certificate has the name %.80q: %s", name, nameRule)
	case name == r.self:
		return "", refuse("", OtherName, "the certificate has the name of this node itself")
	}
	if err := verify(name, r.guests, chain, now); err != nil {
		found := refusalOf(err, "", OtherCA)
		return "", refuse("", found.Reason, "for the name %q: %w", name, found.Err)
	}
	return name, nil
}

// verify checks that a CA has signed a certificate.
func verify(name string, roots *x509.CertPool, chain []*x509.Certificate, now time.Time) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	// A node is both a client and a server, and CAs tend to write one of them.
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: usages})
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
