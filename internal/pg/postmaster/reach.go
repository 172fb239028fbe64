//go:build unix

package postmaster

import (
	"net/url"
	"path/filepath"
	"strconv"
)

// URL returns a URL of the database through the socket, for pgx, psql and CONCH_DB_URL.
func (s *Server) URL(db string) string {
	query := url.Values{"host": {s.socketDir}, "port": {strconv.Itoa(s.port)}}
	return (&url.URL{Scheme: "postgres", User: url.User(Superuser), Path: "/" + db, RawQuery: query.Encode()}).String()
}

// TCPURL returns a URL of the database through 127.0.0.1; it needs Config.TCP. It has no
// sslmode, so clients use TLS if the server has ssl=on.
func (s *Server) TCPURL(db string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(Superuser), Host: s.TCPAddr(), Path: "/" + db}).String()
}

// TCPAddr returns host:port of the server; empty without Config.TCP.
func (s *Server) TCPAddr() string {
	if !s.cfg.TCP {
		return ""
	}
	return "127.0.0.1:" + strconv.Itoa(s.port)
}

// SocketPath returns the path of the Unix socket, for a proxy to dial.
func (s *Server) SocketPath() string { return filepath.Join(s.socketDir, s.socketName()) }

// DataDir returns the data folder, for tests that put certificates or their own
// pg_hba.conf into it. Call Give for each such file.
func (s *Server) DataDir() string { return s.data() }

// Give makes the server's user the owner of a file.
func (s *Server) Give(path string) error { return s.acc.give(path) }

func (s *Server) data() string { return filepath.Join(s.home, "data") }

func (s *Server) socketName() string { return ".s.PGSQL." + strconv.Itoa(s.port) }
