//go:build unix

package postmaster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Follow says how a standby follows its primary.
type Follow struct {
	// Name is its application_name, by which synchronous_standby_names knows it.
	Name string
	// Link is host:port of a proxy before the primary's socket, so that a test can
	// cut it; empty means the socket itself.
	Link string
}

// Standby makes a hot standby of this running server: a base backup in a folder of
// its own, that streams from then on. It waits for nobody when it is promoted,
// whatever the primary was told about its own standbys. ctx bounds the start alone;
// the standby outlives the primary, and its caller stops it.
func (s *Server) Standby(ctx context.Context, cfg Config, f Follow) (*Server, error) {
	own := map[string]string{
		"primary_conninfo":          s.conninfo(f),
		"synchronous_standby_names": "",
		// A link that was cut is tried again at once when it is back.
		"wal_retrieve_retry_interval": "100ms",
	}
	maps.Copy(own, cfg.Settings)
	cfg.Settings = own
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = s.cfg.MaxConnections // fewer would not replay
	}
	return start(ctx, cfg, func(ctx context.Context, standby *Server) error { return standby.prepareBehind(ctx, s) })
}

func (s *Server) conninfo(f Follow) string {
	host, port := s.socketDir, fmt.Sprint(s.port)
	if f.Link != "" {
		host, port, _ = net.SplitHostPort(f.Link)
	}
	return fmt.Sprintf("host=%s port=%s user=%s application_name=%s sslmode=disable", host, port, Superuser, f.Name)
}

// prepareBehind makes the data folder from a base backup of the primary.
func (s *Server) prepareBehind(ctx context.Context, primary *Server) error {
	_, err := tool(ctx, s.bin, s.acc, "pg_basebackup", "-D", s.data(), "-h", primary.socketDir, "-p", fmt.Sprint(primary.port),
		"-U", Superuser, "-X", "stream", "--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	// What was set on the primary by ALTER SYSTEM is the primary's.
	for name, flags := range map[string]int{"postgresql.auto.conf": os.O_TRUNC, "standby.signal": os.O_CREATE} {
		path := filepath.Join(s.data(), name)
		file, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Close(), s.acc.give(path)); err != nil {
			return err
		}
	}
	return s.configure()
}

// Promote makes a primary of a standby, as pg_ctl does, and returns once it takes
// writes. Nobody tells the old primary.
func (s *Server) Promote(ctx context.Context) error {
	// The server looks for the file at every SIGUSR1 that its own processes send it, and
	// takes it away: it has to be whole when it appears.
	signal := filepath.Join(s.data(), "promote")
	whole := signal + ".new"
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		return err
	}
	if err := errors.Join(s.acc.give(whole), os.Rename(whole, signal), syscall.Kill(s.proc.pid, syscall.SIGUSR1)); err != nil {
		return err
	}
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		state, err := s.state(ctx)
		if err != nil || state == "in production" {
			return err
		}
		select {
		case <-s.proc.gone:
			return errors.New("the standby ended while it was promoted: " + s.log.reason())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// state is what the control file says of the cluster; "in production" is written
// after the server has begun to take writes.
func (s *Server) state(ctx context.Context) (string, error) {
	out, err := tool(ctx, s.bin, s.acc, "pg_controldata", "-D", s.data())
	_, rest, _ := strings.Cut(out, "Database cluster state:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line), err
}
