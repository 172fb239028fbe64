package mtls

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/expiry"
)

// roster says whose a certificate is. It does not change.
type roster struct {
	self   string                    // the node's own name
	pinned map[Fingerprint]string    // the peers that are known by their key
	keys   map[string]Fingerprint    // the same by name
	roots  map[string]*x509.CertPool // the peers that are known by a CA
	guests *x509.CertPool            // of anybody else; nil if nobody else comes
}

// who returns the name that a certificate proves, and until when, or a *RefusalError that blames the first thing that is wrong. The
// TLS handshake has shown that the other side has the key. A pinned key proves its name for ever, and no time is returned: who has it
// can write any dates around it, so that they would keep out nobody but a node, theirs or this one, whose clock is wrong.
func (r *roster) who(chain []*x509.Certificate, now time.Time) (name string, until time.Time, err error) {
	if len(chain) == 0 {
		return "", until, refuse("", NoCertificate, "it showed no certificate")
	}
	leaf := chain[0]
	if name, ok := r.pinned[fingerprintOf(leaf)]; ok {
		return name, until, nil
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
		until, err = verify(named[0], r.roots[named[0]], chain, now)
		return named[0], until, err
	case len(named) > 1:
		return "", until, refuse("", OtherName, "the certificate has the names of %d peers", len(named))
	case wrong != nil:
		return "", until, wrong
	case r.guests != nil && len(all) > 0:
		return r.guest(all, chain, now)
	default:
		return "", until, refuse("", UnknownKey, "no peer has the key %v, nor any of the names in the certificate", fingerprintOf(leaf))
	}
}

// guest returns the name of a node that is no peer. One that is refused is a stranger, whatever it calls itself.
func (r *roster) guest(names []string, chain []*x509.Certificate, now time.Time) (name string, until time.Time, err error) {
	name = names[0]
	switch {
	case len(names) > 1:
		return "", until, refuse("", OtherName, "the certificate has %d names, and that of a guest has one", len(names))
	case !validName().MatchString(name):
		return "", until, refuse("", OtherName, "the certificate has the name %.80q: %s", name, nameRule)
	case name == r.self:
		return "", until, refuse("", OtherName, "the certificate has the name of this node itself")
	}
	if until, err = verify(name, r.guests, chain, now); err != nil {
		found := refusalOf(err, "", OtherCA)
		return "", until, refuse("", found.Reason, "for the name %q: %w", name, found.Err)
	}
	return name, until, nil
}

// verify checks that a CA has signed a certificate, and returns how long that holds: until the first one of the chain ends.
func verify(name string, roots *x509.CertPool, chain []*x509.Certificate, now time.Time) (until time.Time, err error) {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	// A node is both a client and a server, and CAs tend to write one of them.
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	chains, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: usages})
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return until, expired(name, chain[0], invalid.Cert, now)
	}
	if err != nil {
		return until, &RefusalError{Peer: name, Reason: OtherCA, Err: err}
	}
	for _, c := range chains {
		if v := expiry.Judge(c, now); v.Ends.After(until) {
			until = v.Ends
		}
	}
	return until, nil
}

// expired says whose certificate has ended, and where it is to be renewed: not here.
func expired(name string, leaf, ended *x509.Certificate, now time.Time) error {
	v := expiry.Judge([]*x509.Certificate{ended}, now)
	if ended.Equal(leaf) {
		return refuse(name, Expired, "the certificate of %s %s: renew it there", name, v.Text)
	}
	return refuse(name, Expired, "the certificate of %s is signed by that of %.80q, which %s: have the CA renew that one", name, ended.Subject, v.Text)
}

// is checks that a chain proves one peer, and returns until when.
func (r *roster) is(want string, chain []*x509.Certificate, now time.Time) (until time.Time, err error) {
	name, until, err := r.who(chain, now)
	if err != nil {
		found := refusalOf(err, want, UnknownKey)
		return until, &RefusalError{Peer: want, Reason: found.Reason, Err: found.Err}
	}
	if name != want {
		return until, &RefusalError{Peer: want, Reason: OtherName, Err: fmt.Errorf("who answers there is peer %q", name)}
	}
	return until, nil
}
