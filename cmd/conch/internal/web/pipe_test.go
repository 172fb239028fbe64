package web_test

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

// pipes is a listener without sockets, for bubbles.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	end   func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.over) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.end(); return nil }

func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// overBoth runs f once for each protocol, with a client of a site that has its real
// limits, on a clock that waits for nothing. Over HTTP/2, which needs TLS, a deadline that
// passes ends a stream even if nobody reads or writes then; over HTTP/1 it does not.
func overBoth(t *testing.T, f func(t *testing.T, w *world, c *http.Client)) {
	t.Helper()
	t.Run("HTTP/1", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, p := newWorld(), newPipes()
			serve(t, w.site(t), p)
			f(t, w, client(t, &http.Transport{DialTLSContext: p.dial}))
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			pair(t, dir, 1)
			cert, err := web.LoadCertificate(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			w, p := newWorld(), newPipes()
			serve(t, w.site(t), tls.NewListener(p, cert.Config()))
			only := new(http.Protocols)
			only.SetHTTP2(true)
			f(t, w, client(t, &http.Transport{DialContext: p.dial, Protocols: only, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}))
		})
	})
}

// call asks and reads the whole answer.
func call(t *testing.T, c *http.Client, method, path string, body io.Reader) (status int, text string, err error) {
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

// pass lets time go by, or the test end.
func pass(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
