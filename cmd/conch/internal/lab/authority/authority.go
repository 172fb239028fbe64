// Package authority is a CA of an experiment.
package authority

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// Lasting is longer than any experiment, and than any clock is turned.
const Lasting = 5 * 365 * 24 * time.Hour

// Authority signs the certificates of nodes.
type Authority struct {
	File string // its certificate

	cert   *x509.Certificate
	key    ed25519.PrivateKey
	signed int64
}

// New makes one, and the file of its certificate.
func New(file string) (*Authority, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{File: file, key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an experiment of conch"}, NotBefore: time.Now().Add(-Lasting), NotAfter: time.Now().Add(Lasting),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	return a, a.sign(a.cert, key.Public(), file)
}

// Certify makes a certificate of an identity's key with one name, in a file.
func (a *Authority) Certify(name string, key mtls.Identity, file string, lasts time.Duration) error {
	a.signed++
	return a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1 + a.signed), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: a.cert.NotBefore, NotAfter: time.Now().Add(lasts),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key.Signer().Public(), file)
}

func (a *Authority) sign(c *x509.Certificate, public any, file string) error {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}
