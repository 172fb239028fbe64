//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// sessionsMost is how many connections the server has room for: ten nodes of a contract have some dozens each.
const sessionsMost = 400

type site struct {
	stage.Clearing

	url   string
	dir   string
	admin *pgraw.Admin
}

// openSite prepares a database with conch's schema and a ledger. The caller clears the site, also
// after an error.
func openSite(ctx context.Context, cfg Config) (*site, error) {
	s := &site{}
	var err error
	if s.dir, err = os.MkdirTemp("", "conch-bench-"); err != nil {
		return s, err
	}
	s.Afterwards(func() error { return os.RemoveAll(s.dir) })
	if s.url, err = s.database(ctx, cfg); err != nil {
		return s, err
	}
	if err := pgmint.Up(ctx, pgmint.Config{URL: s.url}, func(string) {}); err != nil {
		return s, err
	}
	if err := pgledger.Create(ctx, s.url); err != nil {
		return s, err
	}
	if s.admin, err = pgraw.OpenAdmin(ctx, s.url); err != nil {
		return s, err
	}
	s.Afterwards(func() error { s.admin.Close(); return nil })
	return s, nil
}

// database returns the URL of a new database on the caller's server, or of a private server.
func (s *site) database(ctx context.Context, cfg Config) (string, error) {
	if cfg.Database != "" {
		url, drop, err := pgraw.CreateDatabase(ctx, cfg.Database)
		if err == nil {
			s.Afterwards(drop)
		}
		return url, err
	}
	server, err := startServer(ctx)
	if err != nil {
		return "", err
	}
	s.Afterwards(server.Stop)
	return server.URL("postgres"), nil
}

// startServer starts a server on a disk, not in memory, so that a commit costs what it costs. The
// settings are PostgreSQL's defaults, except for room for ten thousand locks, the times of commits,
// and the counter of statements, which measures nothing until a database turns it on.
func startServer(ctx context.Context) (*postmaster.Server, error) {
	settings := map[string]string{
		"shared_buffers": "128MB", "max_locks_per_transaction": "256", "track_commit_timestamp": "on",
		"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none",
	}
	server, err := startOn(ctx, settings)
	if _, ok := errors.AsType[*postmaster.StartError](err); ok {
		// The contrib package is missing: statements are counted another way.
		delete(settings, "shared_preload_libraries")
		delete(settings, "pg_stat_statements.track")
		return startOn(ctx, settings)
	}
	return server, err
}

// startOn uses the first folder for temporary files that the server's user may enter: root's TMPDIR
// may be closed to it.
func startOn(ctx context.Context, settings map[string]string) (server *postmaster.Server, err error) {
	for _, under := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		var dir string
		if dir, err = os.MkdirTemp(under, "conch-bench-data-"); err != nil {
			continue
		}
		server, err = postmaster.Start(ctx, postmaster.Config{Dir: dir, Fsync: true, MaxConnections: sessionsMost, Settings: settings})
		if err == nil {
			return server, nil
		}
		_ = os.RemoveAll(dir) // unless Stop has removed it
		if _, started := errors.AsType[*postmaster.StartError](err); started {
			break
		}
	}
	return nil, fmt.Errorf("the server to measure on: %w", err)
}

func (s *site) about(ctx context.Context) string {
	parts := []string{"PostgreSQL " + s.admin.Version()}
	for _, name := range []string{"fsync", "synchronous_commit", "shared_buffers"} {
		if v, err := s.admin.Setting(ctx, name); err == nil {
			parts = append(parts, name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}
