package webtest

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// Pipes is a listener without sockets, for bubbles.
type Pipes struct {
	conns chan net.Conn
	over  chan struct{}
	end   func()
}

// NewPipes returns one that is open.
func NewPipes() *Pipes {
	p := &Pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.over) })
	return p
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error { p.end(); return nil }

// Addr implements net.Listener.
func (*Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// Dial makes a connection to it, whatever the address.
func (p *Pipes) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// OverBoth runs f once for each protocol, with a client of a site that has its real
// limits, on a clock that waits for nothing. Over HTTP/2, which needs TLS, a deadline that
// passes ends a stream even if nobody reads or writes then; over HTTP/1 it does not.
func OverBoth[W any](t *testing.T, world func(t *testing.T) (W, *web.Site), f func(t *testing.T, w W, c *http.Client)) {
	t.Helper()
	t.Run("HTTP/1", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, site := world(t)
			p := NewPipes()
			Serve(t, site, p)
			f(t, w, Client(t, &http.Transport{DialTLSContext: p.Dial}))
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			Pair(t, dir, 1)
			cert, err := web.LoadCertificate(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			w, site := world(t)
			p := NewPipes()
			Serve(t, site, tls.NewListener(p, cert.Config()))
			only := new(http.Protocols)
			only.SetHTTP2(true)
			f(t, w, Client(t, &http.Transport{DialContext: p.Dial, Protocols: only, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})) //nolint:gosec // to a certificate that was made a moment ago
		})
	})
}

// Call asks and reads the whole answer.
func Call(t *testing.T, c *http.Client, method, path string, body io.Reader) (status int, text string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://conch"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

// Pass lets time go by, or the test end.
func Pass(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
