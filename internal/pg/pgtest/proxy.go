package pgtest

import (
	"net/url"
	"testing"

	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// Proxy puts a TCP proxy before the database, closed when the test ends, and
// returns the URL that leads through it.
func (db *DB) Proxy(t testing.TB) (*tcpproxy.Proxy, string) {
	t.Helper()
	shared.Lock()
	server := shared.server
	shared.Unlock()
	return Proxy(t, server, db.Name)
}

// Proxy does the same for a server of one's own.
func Proxy(t testing.TB, server *postmaster.Server, db string) (*tcpproxy.Proxy, string) {
	t.Helper()
	proxy, err := tcpproxy.New(server.SocketPath())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(proxy.Close)
	return proxy, ThroughURL(proxy.Addr(), db)
}

// ThroughURL reaches a database at host:port, in plain text: what stands there
// is a proxy or a pooler.
func ThroughURL(addr, db string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User(postmaster.Superuser), Host: addr, Path: "/" + db, RawQuery: "sslmode=disable",
	}).String()
}
