//go:build unix

package postmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	// Env is added to the server's environment, which has nothing of ours: a library
	// that turns its clock is named there.
	Env []string
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
	return start(ctx, cfg, func(ctx context.Context, s *Server) error { return s.prepare(ctx) })
}

func start(ctx context.Context, cfg Config, prepare func(context.Context, *Server) error) (*Server, error) {
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
		err = prepare(ctx, s)
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
	proc, err := launch(s.bin, s.data(), s.acc, s.cfg.Env, s.log)
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

// Folder makes a folder for what belongs to the server's user and is to go with it: by
// Stop, or, if this program is killed, by the next Start of any other.
func (s *Server) Folder(name string) (string, error) {
	dir := filepath.Join(s.folders[0], name)
	return dir, os.Mkdir(dir, 0o700)
}

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
