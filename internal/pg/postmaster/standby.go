//go:build unix

package postmaster

import (
	"cmp"
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

// Follow describes how a standby follows its primary.
type Follow struct {
	// Name is its application_name, which synchronous_standby_names lists.
	Name string
	// Link is host:port of a proxy to the primary's socket, so that a test can cut the
	// connection; empty means the socket itself.
	Link string
}

// Standby makes a hot standby from a base backup of this running server. When it is
// promoted, it waits for no standbys of its own, whatever the primary's setting is. The end
// of ctx only ends the start. The standby outlives the primary; the caller stops it.
func (s *Server) Standby(ctx context.Context, cfg Config, f Follow) (*Server, error) {
	own := map[string]string{
		"primary_conninfo":          s.conninfo(f),
		"synchronous_standby_names": "",
		// Reconnect soon after a link that was cut is back.
		"wal_retrieve_retry_interval": "100ms",
	}
	maps.Copy(own, cfg.Settings)
	cfg.Settings = own
	cfg.MaxConnections = cmp.Or(cfg.MaxConnections, s.cfg.MaxConnections) // with fewer the standby refuses to replay
	return start(ctx, cfg, func(ctx context.Context, standby *Server) error { return standby.prepareBehind(ctx, s) })
}

func (s *Server) conninfo(f Follow) string {
	host, port := s.socketDir, fmt.Sprint(s.port)
	if f.Link != "" {
		host, port, _ = net.SplitHostPort(f.Link)
	}
	return fmt.Sprintf("host=%s port=%s user=%s application_name=%s sslmode=disable", host, port, Superuser, f.Name)
}

func (s *Server) prepareBehind(ctx context.Context, primary *Server) error {
	_, err := tool(ctx, s.bin, s.acc, "pg_basebackup", "-D", s.data(), "-h", primary.socketDir, "-p", fmt.Sprint(primary.port),
		"-U", Superuser, "-X", "stream", "--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	// Drop the primary's ALTER SYSTEM settings.
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

// Promote turns a standby into a primary, as pg_ctl does, and returns once it takes writes.
// It does not tell the old primary.
func (s *Server) Promote(ctx context.Context) error {
	// The server looks for the file at every SIGUSR1, also from its own processes, and
	// removes it: the file must be complete when it appears.
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

// state reads the control file, which says "in production" once the server takes writes.
func (s *Server) state(ctx context.Context) (string, error) {
	out, err := tool(ctx, s.bin, s.acc, "pg_controldata", "-D", s.data())
	_, rest, _ := strings.Cut(out, "Database cluster state:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line), err
}
