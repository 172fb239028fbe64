package chunksync

import (
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// forgetful drops the traffic of all connections made before a moment without an error, as
// a restarted firewall does. New connections work.
type forgetful struct {
	net.Listener
	moment atomic.Int64
}

func (f *forgetful) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	return &forgotten{Conn: c, line: f, since: f.moment.Load()}, err
}

type forgotten struct {
	net.Conn
	line  *forgetful
	since int64
}

func (c *forgotten) lost() bool { return c.line.moment.Load() > c.since }

func (c *forgotten) Read(to []byte) (int, error) {
	for {
		n, err := c.Conn.Read(to)
		if err != nil || !c.lost() {
			return n, err
		}
	}
}

func (c *forgotten) Write(from []byte) (int, error) {
	if c.lost() {
		return len(from), nil
	}
	return c.Conn.Write(from)
}

// A silent connection is given up, also over HTTP/2, where requests share a connection and a
// failed one leaves it open.
func TestASilentLineIsGivenUp(t *testing.T) {
	t.Parallel()
	var protocol atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		answer(w, "application/json", http.StatusOK, heldAnswer{ID: "b"})
	}))
	line := &forgetful{Listener: s.Listener}
	s.Listener, s.EnableHTTP2 = line, true
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	// A busy machine may need Longest for a handshake.
	cfg := Config{ID: "a", Peers: map[string]string{"b": s.URL}, Longest: time.Second, Roots: roots}.withDefaults()
	t.Cleanup(func() {
		cfg.Client.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	c := client{cfg: cfg}
	works := func() bool {
		_, _, err := c.promise(t.Context(), "b")
		return err == nil
	}
	eventually(t, "the connection works", works)
	if protocol.Load() != "HTTP/2.0" {
		t.Fatalf("got protocol %v, want HTTP/2.0: this test is blind", protocol.Load())
	}
	line.moment.Add(1)
	if works() {
		t.Fatal("the old connection still works: this test is blind")
	}
	eventually(t, "a new connection is made", works)
}
