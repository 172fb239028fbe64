package peers

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// The doctor meets a peer as far as it shows its key, and tells a stranger from one that is away.
func TestPeersAreMet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "identity.pem")
	id, err := mtls.CreateIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := mtls.New(mtls.Config{Self: "north", Listen: "127.0.0.1:0", Key: key, Peers: []mtls.Peer{{Name: "bank", URL: "https://127.0.0.1:1", Key: "sha256:" + strings.Repeat("0", 64)}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- peer.Run(ctx) }()
	defer func() { stop(); <-ended }()
	url := "https://" + peer.Addr().String()
	other := "sha256:" + strings.Repeat("0", 64)
	for _, c := range []struct {
		name          string
		peer          Peer
		away, foreign string
	}{
		{"the right key", Peer{Name: "north", URL: url, Key: id.Fingerprint().String()}, "", ""},
		{"another key", Peer{Name: "north", URL: url, Key: other}, "written down", id.Fingerprint().String()},
		{"no certificate of a CA", Peer{Name: "north", URL: url, CA: key}, "certificate", "certificate"},
		{"a CA without a file", Peer{Name: "north", URL: url, CA: filepath.Join(dir, "none.pem")}, "none.pem", "none.pem"},
		{"nobody there", Peer{Name: "north", URL: "https://127.0.0.1:1", Key: other}, "refused", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got := Directory{}.meet(ctx, c.peer)
		cancel()
		for _, part := range []struct{ got, want string }{{got.away, c.away}, {got.foreign, c.foreign}} {
			if (part.got == "") != (part.want == "") || !strings.Contains(part.got, part.want) {
				t.Errorf("%s: got %+v, want %q and %q", c.name, got, c.away, c.foreign)
			}
		}
	}
}

// A CA speaks for the names in its certificates, and for no other peer.
func TestACAProvesNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, ca, key := authority(t, filepath.Join(dir, "ca.pem"))
	other, _, _ := authority(t, filepath.Join(dir, "other.pem"))
	raw := leafOf(t, ca, key, time.Hour)
	shown, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer Peer
		ca   string // of [identity]
		good bool
	}{
		{Peer{Name: "north", CA: file}, "", true},
		{Peer{Name: "east", CA: file}, "", false},
		{Peer{Name: "north", CA: other}, "", false},
		{Peer{Name: "north"}, file, true},
		{Peer{Name: "north"}, other, false},
		{Peer{Name: "north", CA: other}, file, false},
	} {
		if _, _, err := (Directory{Identity: Identity{CA: c.ca}}).proves(c.peer, []*x509.Certificate{shown}); (err == nil) != c.good {
			t.Errorf("%+v, with the CA %q: %v", c.peer, c.ca, err)
		}
	}
	own := Identity{Key: filepath.Join(dir, "key.pem"), Certificate: filepath.Join(dir, "certificate.pem")}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, own.Key, "PRIVATE KEY", private)
	write(t, own.Certificate, "CERTIFICATE", raw)
	loaded, _, err := own.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ca string // of this node
		good     bool
	}{
		{"north", file, true},
		{"east", file, false},
		{"north", other, false},
		{"east", "", true},
	} {
		own.Name, own.CA = c.name, c.ca
		if err := (Directory{Identity: own}).unproven(loaded); (err == nil) != c.good {
			t.Errorf("the doctor of %q with the CA %q says: %v", c.name, c.ca, err)
		}
	}
	if _, at, err := (Identity{Key: own.Key, Certificate: other}).load(); err == nil || at != keyOfCertificate {
		t.Errorf("the certificate is another key's, and %s is blamed: %v", at, err)
	}
	if _, at, err := (Identity{Key: own.Key, Certificate: own.Key}).load(); err == nil || at != keyOfCertificate {
		t.Errorf("the certificate is none, and %s is blamed: %v", at, err)
	}
	if _, _, err := (Directory{}).proves(Peer{Name: "north", CA: file}, nil); err == nil {
		t.Error("nothing was shown, and it was taken for a proof")
	}
	ended, err := x509.ParseCertificate(leafOf(t, ca, key, -time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, over, err := (Directory{}).proves(Peer{Name: "north", CA: file}, []*x509.Certificate{ended}); !over || err == nil || !strings.Contains(err.Error(), "the certificate of north ended") {
		t.Errorf("the time of a certificate is over: %t, %v", over, err)
	}
}

// leafOf makes a certificate of north.
func leafOf(t *testing.T, ca *x509.Certificate, key ed25519.PrivateKey, lasts time.Duration) []byte {
	t.Helper()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"north"}, NotAfter: time.Now().Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, // as some CAs write it, and nodes take it
	}
	raw, err := x509.CreateCertificate(nil, leaf, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// authority makes a CA, and the file of its certificate.
func authority(t *testing.T, file string) (string, *x509.Certificate, ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: file}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(nil, ca, ca, public, key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "CERTIFICATE", raw)
	return file, ca, key
}

func write(t *testing.T, file, kind string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}
