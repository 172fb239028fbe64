package mtls

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/durable"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/internal/secretfile"
)

const (
	mostFile    = 1 << 20 // bytes of a file with keys or certificates
	privateType = "PRIVATE KEY"
	certType    = "CERTIFICATE"
)

// ErrExists means that a key is there already. It is never overwritten: peers may have pinned it.
var ErrExists = errors.New("a file is there already, and a key is never overwritten")

// Identity is a node's key and the certificate that it shows. It prints as its fingerprint, whatever the verb.
type Identity struct {
	certificate tls.Certificate
	fingerprint Fingerprint
}

// Certificates returns the certificate that it shows, and then those that lead to a CA.
func (i Identity) Certificates() []*x509.Certificate {
	all, _ := x509.ParseCertificates(slices.Concat(i.certificate.Certificate...)) // each has been parsed before
	return all
}

// Fingerprint returns the name of the key, for the peers that pin it.
func (i Identity) Fingerprint() Fingerprint { return i.fingerprint }

// Format implements fmt.Formatter: no verb prints the key.
func (i Identity) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, i.fingerprint.String()) }

// MarshalText implements encoding.TextMarshaler, for the same reason.
func (i Identity) MarshalText() ([]byte, error) { return []byte(i.fingerprint.String()), nil }

// CreateIdentity makes an Ed25519 key and stores it in a new file that only its owner reads, whole or not at all. It
// returns ErrExists if the file is there.
//
// Ed25519, since a signature of it needs no random number that could give the key away, and its keys and certificates are
// the smallest. A key of another kind that TLS 1.3 has can be loaded too: some companies' CAs sign no Ed25519.
func CreateIdentity(file string) (Identity, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Identity{}, err
	}
	i, err := selfSigned(private)
	if err == nil {
		err = durable.Create(file, pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: der}))
	}
	if errors.Is(err, fs.ErrExist) {
		return i, fmt.Errorf("%s: %w", file, ErrExists)
	}
	if err != nil {
		err = fmt.Errorf("cannot write a key: %w", err)
	}
	return i, err
}

// LoadIdentity reads a private key in PEM (PKCS #8), and its certificate with those that lead to a CA. Without a file of
// certificates it makes a certificate that the key signs itself: then peers have to pin the fingerprint. A key that other
// users of the machine can read is refused. No error contains any of the key.
func LoadIdentity(key, certificate string) (Identity, error) {
	private, err := readKey(key)
	if err != nil {
		return Identity{}, err
	}
	if certificate == "" {
		return selfSigned(private)
	}
	chain, err := readCertificates(certificate)
	if err != nil {
		return Identity{}, err
	}
	public, ok := private.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(chain[0].PublicKey) {
		return Identity{}, fmt.Errorf("the first certificate in %s is not of the key in %s", certificate, key)
	}
	i := Identity{fingerprint: fingerprintOf(chain[0]), certificate: tls.Certificate{PrivateKey: private, Leaf: chain[0]}}
	for _, c := range chain {
		i.certificate.Certificate = append(i.certificate.Certificate, c.Raw)
	}
	return i, nil
}

// selfSigned makes a certificate for a key. A peer that pins the key asks it for nothing else, so it has no name, and its
// time never ends: a wrong clock keeps no two nodes apart.
func selfSigned(private crypto.Signer) (Identity, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conch"},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return Identity{}, fmt.Errorf("no certificate can be made for the key: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Identity{}, err
	}
	return Identity{fingerprint: sha256.Sum256(leaf.RawSubjectPublicKeyInfo), certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}}, nil
}

func readKey(file string) (crypto.Signer, error) {
	text, err := secretfile.Read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no key at %s: \"conch identity new --file %s\" makes one", file, file)
	case err != nil:
		return nil, fmt.Errorf("the key in %s cannot be used: %w", file, err)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != privateType {
		return nil, fmt.Errorf("%s has no key that can be read: it must begin with \"-----BEGIN %s-----\" (PKCS #8, without a password)", file, privateType)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok { // the reason is left out: it may have what was read
		return nil, fmt.Errorf("the key in %s is damaged, or of a kind that cannot sign", file)
	}
	return signer, nil
}

// readCertificates reads at least one certificate.
func readCertificates(file string) (all []*x509.Certificate, err error) {
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	if all, err = expiry.Parse(text); err != nil {
		return nil, fmt.Errorf("a certificate in %s is damaged: %w", file, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate: one begins with \"-----BEGIN %s-----\"", file, certType)
	}
	return all, nil
}

func read(file string) (content []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err = io.ReadAll(io.LimitReader(f, mostFile+1))
	if err == nil && len(content) > mostFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, mostFile)
	}
	return secretfile.Text(content), err
}
