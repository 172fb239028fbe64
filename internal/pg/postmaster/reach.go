//go:build unix

package postmaster

import (
	"net/url"
	"path/filepath"
	"strconv"
)

// URL reaches the database through the socket; pgx, psql and CONCH_DB_URL take it.
func (s *Server) URL(db string) string {
	query := url.Values{"host": {s.socketDir}, "port": {strconv.Itoa(s.port)}}
	return (&url.URL{Scheme: "postgres", User: url.User(Superuser), Path: "/" + db, RawQuery: query.Encode()}).String()
}

// TCPURL reaches the database through 127.0.0.1; it needs Config.TCP. No TLS is
// named, so a server with ssl=on is still spoken to in TLS when it offers it.
func (s *Server) TCPURL(db string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(Superuser), Host: s.TCPAddr(), Path: "/" + db}).String()
}

// TCPAddr is what a TCP proxy dials; empty without Config.TCP.
func (s *Server) TCPAddr() string {
	if !s.cfg.TCP {
		return ""
	}
	return "127.0.0.1:" + strconv.Itoa(s.port)
}

// SocketPath is the file of the Unix socket, for a proxy to dial.
func (s *Server) SocketPath() string { return filepath.Join(s.socketDir, s.socketName()) }

// DataDir is for tests that put certificates or an own pg_hba.conf into it; Give
// hands such a file to the server's user.
func (s *Server) DataDir() string { return s.data() }

// Give hands a file to the user the server runs as.
func (s *Server) Give(path string) error { return s.acc.give(path) }

func (s *Server) data() string { return filepath.Join(s.home, "data") }

func (s *Server) socketName() string { return ".s.PGSQL." + strconv.Itoa(s.port) }
