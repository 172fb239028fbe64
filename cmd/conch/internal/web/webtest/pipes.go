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

// Pipes is a listener for tests in a synctest bubble, where a socket would keep virtual time from
// advancing.
type Pipes struct {
	conns chan net.Conn
	over  chan struct{}
	end   func()
}

// NewPipes returns an open listener.
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

// Dial connects to the listener. It ignores its arguments, and may block until Accept or Close.
func (p *Pipes) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// OverBoth runs f over HTTP/1 and HTTP/2, each in a bubble of its own, with what world returned and a
// client of its site, which is served under the site's own time limits. When a read or write deadline
// of the server passes, HTTP/2 ends the stream at once, HTTP/1 at the next read or write.
func OverBoth[W any](t *testing.T, world func(t *testing.T) (W, *web.Site), f func(t *testing.T, w W, c *http.Client)) {
	t.Helper()
	t.Run("HTTP/1", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, site := world(t)
			p := NewPipes()
			Serve(t, site, p)
			f(t, w, Client(t, &http.Transport{DialTLSContext: p.Dial})) // a plain pipe: Call asks for https
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
			f(t, w, Client(t, &http.Transport{DialContext: p.Dial, Protocols: only, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})) //nolint:gosec // the test trusts its own certificate
		})
	})
}

// Call sends a request and reads the whole answer.
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

// Pass lets d of the bubble's time pass, or returns when the test is over, so that a handler ends.
func Pass(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
