//go:build unix

package agents

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// authority signs the certificates of a crowd.
type authority struct {
	dir    string
	file   string // its certificate
	cert   *x509.Certificate
	key    ed25519.PrivateKey
	signed int64
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir, file: filepath.Join(dir, "ca.pem")}
	var err error
	if _, a.key, err = ed25519.GenerateKey(rand.Reader); err != nil {
		return nil, err
	}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conch bench"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return a, a.sign(a.cert, a.key.Public(), a.file)
}

func (a *authority) sign(c *x509.Certificate, public any, file string) error {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// paper is a node's key and its certificate, in files.
type paper struct {
	key, certificate string
	fingerprint      mtls.Fingerprint
}

// issue makes a key, and a certificate with one name.
func (a *authority) issue(name string) (p paper, err error) {
	p = paper{key: filepath.Join(a.dir, name+".key"), certificate: filepath.Join(a.dir, name+".pem")}
	identity, err := mtls.CreateIdentity(p.key)
	if err != nil {
		return p, err
	}
	p.fingerprint = identity.Fingerprint()
	a.signed++
	return p, a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1 + a.signed), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, identity.Signer().Public(), p.certificate)
}
