package webtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Tokens that may read and operate.
const (
	ReadSecret    = "read-0123456789abcdef-0123456789abcdef"
	OperateSecret = "operate-0123456789abcdef-0123456789abcdef"
)

// ErrAway is the error of a database that is away.
var ErrAway = errors.New("connection refused")

// Site makes a site with the routes, no scopes and no database. Change may alter its settings.
func Site(t testing.TB, log *Log, routes []web.Route, change func(*web.Config)) *web.Site {
	t.Helper()
	cfg := web.Config{
		ID: "node-1", Version: "v1.2.3", Electors: nobody{}, Metrics: http.NotFoundHandler(), Routes: routes,
		Observe: func(context.Context) (web.Observer, error) { return nil, ErrAway },
		Logger:  slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

type nobody struct{}

func (nobody) Scopes() []string                                  { return nil }
func (nobody) Gate(string) *fence.Gate                           { return nil }
func (nobody) StepDown(context.Context, election.StepDown) error { return election.ErrUnknownScope }

// Tokens returns a token of each kind; the one that may operate is called ops.
func Tokens(t testing.TB) *web.Tokens {
	t.Helper()
	tokens, err := web.LoadTokens(TokenFile(t, "read", ReadSecret+"\n"), TokenFile(t, "operate", "# of the team\nops "+OperateSecret+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TokenFile writes a file of tokens and returns its path.
func TokenFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Log is a log that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Serve runs a site on a listener until the test ends or stop is called.
func Serve(t testing.TB, s *web.Site, ln net.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln, s.API()) }()
	once := false
	stop = func() (err error) {
		cancel()
		if once {
			return nil
		}
		once = true
		pgtest.Within(t, time.Minute, "the server ends", func() { err = <-ended })
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// Client returns a client whose connections end with the test.
func Client(t testing.TB, transport *http.Transport) *http.Client {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Pair writes a certificate with the serial number n, and its key.
func Pair(t testing.TB, dir string, n int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(n), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
