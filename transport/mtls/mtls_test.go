package mtls_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/transport/transporttest"
)

// The tests wait for peers that are silent most of the time.
func TestMain(m *testing.M) {
	runtest.MostlyWait()
	goleak.VerifyTestMain(m)
}

func TestExercise(t *testing.T) {
	t.Parallel()
	transporttest.Exercise(t, func(t *testing.T, names ...string) map[string]transport.Endpoint {
		t.Helper()
		all := map[string]transport.Endpoint{}
		for name, n := range network(t, names...) {
			all[name] = n.Endpoint
		}
		return all
	})
}

// What one peer sends over one line arrives in order and is counted on both sides; what finds no room was refused before. Not more is under
// way at a time than waits for a reader in any case: on a busy machine one that is late would otherwise lose messages, as it should.
func TestMessagesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	all := network(t, "a", "b")
	a, b := all["a"], all["b"]
	from, to := open(t, a), open(t, b)
	connected(t, a, b)
	const many, window = 6000, 500
	for first := range many / window {
		for i := range window {
			flood(from, "b", fmt.Append(nil, first*window+i), 1)
		}
		for i := range window {
			if got, want := next(t, to), fmt.Sprint(first*window+i); string(got.Body) != want {
				t.Fatalf("message %s is %q", want, got.Body)
			}
		}
	}
	sent, received := a.Stats().Peers["b"], b.Stats().Peers["a"]
	if sent.Sent != many || received.Received != many || sent.SentBytes != received.ReceivedBytes || sent.SentBytes < many || received.Dropped+received.Unread+sent.Outdated > 0 {
		t.Errorf("a has sent %+v,\nb has received %+v", sent, received)
	}
}

// node is an endpoint of a test, with the configuration that it runs with.
type node struct {
	*mtls.Endpoint
	cfg  mtls.Config
	stop func() // ends it, and waits
}

// network runs endpoints that pin each other.
func network(t testing.TB, names ...string) map[string]*node {
	t.Helper()
	all := map[string]*node{}
	for _, name := range names {
		all[name] = listen(t, mtls.Config{Self: name, Key: identity(t, name)})
	}
	for _, n := range all {
		for _, other := range all {
			if n != other {
				n.cfg.Peers = append(n.cfg.Peers, pinned(other))
			}
		}
		n.reload(t)
		n.run(t)
	}
	return all
}

// identity returns the file of a new key.
func identity(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".pem")
	if _, err := mtls.CreateIdentity(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// listen makes an endpoint on a port of its own.
func listen(t testing.TB, c mtls.Config) *node {
	t.Helper()
	c.Listen = "127.0.0.1:0"
	e, err := mtls.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &node{Endpoint: e, cfg: c}
}

func pinned(n *node) mtls.Peer {
	return mtls.Peer{Name: n.Self(), URL: "https://" + n.Addr().String(), Key: n.Fingerprint().String()}
}

func (n *node) reload(t testing.TB) {
	t.Helper()
	if err := n.Reload(n.cfg); err != nil {
		t.Fatal(err)
	}
}

func (n *node) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	n.stop = func() { cancel(); running.Wait() }
	t.Cleanup(n.stop)
}

func open(t testing.TB, n *node) transport.Line {
	t.Helper()
	l, err := n.Open("s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// ca is an authority of a test.
type ca struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
	file string
}

func authority(t testing.TB) *ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	c := &ca{key: key, cert: cert, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), file: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(c.file, c.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// issue returns files with a new key and its certificate, valid in a time around now, and the same for a handshake.
func (c *ca) issue(t testing.TB, from, until time.Duration, names ...string) (key, certificate string, shown tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, shown = c.sign(t, private, from, until, names...)
	return key, certificate, shown
}

// sign returns another certificate of a key.
func (c *ca) sign(t testing.TB, private *ecdsa.PrivateKey, from, until time.Duration, names ...string) (file string, shown tls.Certificate) {
	t.Helper()
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<60))
	template := &x509.Certificate{
		SerialNumber: serial, DNSNames: names, NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, private.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}
