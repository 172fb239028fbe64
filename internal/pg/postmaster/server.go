//go:build unix

package postmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// socketPort only names the socket file when there is no TCP port.
	socketPort   = 54320
	defaultConns = 100
)

// Config says what kind of server. The zero value is right for most tests.
type Config struct {
	// Dir is where it lives: missing or empty, removed by Stop. Empty means a
	// new folder in memory where there is room, else a temporary one.
	Dir string
	// Fsync makes commits survive a crash of the machine. A crash of the server
	// alone (Kill9) loses nothing either way.
	Fsync bool
	// MaxConnections is 100 when zero.
	MaxConnections int
	// TCP makes the server listen on a free port of 127.0.0.1 as well.
	TCP bool
	// Settings go to postgresql.conf after our own, so they win; ALTER SYSTEM
	// wins over both.
	Settings map[string]string
	// Log receives the server's log.
	Log io.Writer
}

// StartError is a server that did not come up.
type StartError struct {
	Err    error
	Reason string // the line of its log that says why
}

func (e *StartError) Error() string {
	return fmt.Sprintf("the private PostgreSQL server did not start (%v): %s", e.Err, e.Reason)
}

func (e *StartError) Unwrap() error { return e.Err }

// Server is one private server.
type Server struct {
	cfg       Config
	bin       string
	acc       account
	port      int
	home      string
	socketDir string
	folders   []string
	owner     *os.File
	templated bool
	log       *tail
	proc      *process
}

// Start makes a cluster and runs a server on it. ctx bounds the start alone.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	bin, err := Binaries(ctx)
	if err != nil {
		return nil, err
	}
	acc, err := serverAccount()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, bin: bin, acc: acc, port: socketPort, log: &tail{to: cfg.Log}}
	if cfg.TCP {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	err = s.place(cfg.Dir)
	if err == nil {
		err = s.prepare(ctx)
	}
	if err == nil {
		err = s.StartAgain(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// prepare makes the data folder.
func (s *Server) prepare(ctx context.Context) error {
	if err := newCluster(ctx, s.bin, s.acc, s.data()); err != nil {
		return err
	}
	s.templated = true
	return s.configure()
}

// StartAgain runs the server on its cluster: after Kill9, with the recovery from
// the crash that this asks for.
func (s *Server) StartAgain(ctx context.Context) error {
	if s.proc != nil && s.proc.alive() {
		return errors.New("the private PostgreSQL server runs already")
	}
	proc, err := launch(s.bin, s.data(), s.acc, s.log)
	if err != nil {
		return err
	}
	s.proc = proc
	if err := proc.ready(ctx, s.data()); err != nil {
		_ = proc.end(syscall.SIGQUIT)
		return &StartError{Err: err, Reason: s.log.reason()}
	}
	return nil
}

// RestartFast ends every session as an administrator would, then starts again.
func (s *Server) RestartFast(ctx context.Context) error {
	if err := s.proc.end(syscall.SIGINT); err != nil {
		return err
	}
	return s.StartAgain(ctx)
}

// Kill9 is a crash: SIGKILL for the postmaster, then wait until its backends
// have noticed. The folder stays as the crash left it.
func (s *Server) Kill9() { _ = s.proc.end(syscall.SIGKILL) }

// PID is the postmaster's process id, for tests that stop it with SIGSTOP.
func (s *Server) PID() int { return s.proc.pid }

// Gone is closed when this life of the server has ended, wanted or not.
func (s *Server) Gone() <-chan struct{} { return s.proc.gone }

// Stop ends the server at once and removes its folder. It may be called again.
func (s *Server) Stop() error {
	var faults []error
	if s.proc != nil {
		faults = append(faults, s.proc.end(syscall.SIGQUIT))
	}
	for _, dir := range s.folders {
		faults = append(faults, os.RemoveAll(dir))
	}
	if s.owner != nil {
		_ = s.owner.Close()
	}
	if s.templated {
		s.templated = false
		faults = append(faults, leaveTemplate())
	}
	s.folders, s.owner = nil, nil
	return errors.Join(faults...)
}

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
