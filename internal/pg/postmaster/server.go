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
	// socketPort is only part of the socket's file name if there is no TCP port.
	socketPort   = 54320
	defaultConns = 100
)

// Config describes the server. The zero value is right for most tests.
type Config struct {
	// Dir is the server's folder, which must be missing or empty; Stop removes it. ""
	// means a new folder, in memory if there is room.
	Dir            string
	Fsync          bool // makes commits survive a crash of the machine; Kill9 loses none either way
	MaxConnections int  // 100 if it is zero
	TCP            bool // listen on a free port of 127.0.0.1 too
	// Settings override those of this package; ALTER SYSTEM overrides both.
	Settings map[string]string
	// Env is added to the server's environment, which does not contain that of this
	// program. A test names a library there that changes the server's clock.
	Env []string
	Log io.Writer // receives the server's log
}

// StartError means that the server did not start.
type StartError struct {
	Err    error
	Reason string // the line of the server's log that says why
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
	log       *logTail
	proc      *process
}

// Start makes a cluster and runs a server on it. The end of ctx only ends the start.
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
	s := &Server{cfg: cfg, bin: bin, acc: acc, port: socketPort, log: &logTail{to: cfg.Log}}
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

func (s *Server) prepare(ctx context.Context) error {
	if err := newCluster(ctx, s.bin, s.acc, s.data()); err != nil {
		return err
	}
	s.templated = true
	return s.configure()
}

// StartAgain runs the server on its cluster, after Kill9 with a recovery.
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

// RestartFast shuts the server down in fast mode, which ends every session, and starts it.
func (s *Server) RestartFast(ctx context.Context) error {
	if err := s.proc.end(syscall.SIGINT); err != nil {
		return err
	}
	return s.StartAgain(ctx)
}

// Kill9 sends SIGKILL to the postmaster and waits until the backends have ended.
func (s *Server) Kill9() { _ = s.proc.end(syscall.SIGKILL) }

// PID returns the postmaster's process id, for tests that stop it with SIGSTOP.
func (s *Server) PID() int { return s.proc.pid }

// Folder makes a folder in the server's own. Stop removes it, or, if this program is
// killed, the next Start of any program.
func (s *Server) Folder(name string) (string, error) {
	dir := filepath.Join(s.folders[0], name)
	return dir, os.Mkdir(dir, 0o700)
}

// Gone returns a channel that is closed when this run of the server has ended.
func (s *Server) Gone() <-chan struct{} { return s.proc.gone }

// Stop ends the server at once and removes its folder. A second call does nothing.
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
