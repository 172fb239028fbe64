package pgtest

import (
	"net/url"
	"testing"

	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// Proxy starts a TCP proxy to the database, until the test ends, and returns a URL through it.
func (db *DB) Proxy(t testing.TB) (*tcpproxy.Proxy, string) {
	t.Helper()
	shared.Lock()
	server := shared.server
	shared.Unlock()
	return Proxy(t, server, db.Name)
}

// Proxy starts a TCP proxy to a server made by Own.
func Proxy(t testing.TB, server *postmaster.Server, db string) (*tcpproxy.Proxy, string) {
	t.Helper()
	proxy, err := tcpproxy.New(server.SocketPath())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(proxy.Close)
	return proxy, ThroughURL(proxy.Addr(), db)
}

// ThroughURL returns a URL, in plain text, of a database behind a proxy or pooler at host:port.
func ThroughURL(addr, db string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User(postmaster.Superuser), Host: addr, Path: "/" + db, RawQuery: "sslmode=disable",
	}).String()
}
