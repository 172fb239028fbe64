//go:build linux

package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Config configures a run.
type Config struct {
	Self, Conch string // the binaries of peers and of conch
	Only        string // parts whose name contains this; empty: all
	Quick       bool
	Patience    time.Duration // limit for each wait
	Rest        time.Duration // duration of counting at rest
	// Schemas create the tables of peers' libraries, by peer. The caller passes them, so that this
	// package needs none of the libraries.
	Schemas map[string]func(context.Context, *pgxpool.Pool) error
	Say     func(format string, args ...any)

	launcher *fleet.Launcher
}

// Run runs all parts at the same time, so that they share the conditions of the machine.
func Run(ctx context.Context, cfg Config) (results []Result, err error) {
	dir, err := os.MkdirTemp("", "conch-peers-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg.launcher = fleet.NewLauncher()
	defer cfg.launcher.Close()
	server, err := startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()

	trials, err := prepare(ctx, cfg, dir, server)
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	faults := make([]error, len(trials))
	for i, t := range trials {
		group.Go(func() {
			began := time.Now()
			faults[i] = t.run(ctx)
			cfg.Say("%s: done after %s", t.part.name(), time.Since(began).Round(time.Second))
		})
	}
	group.Wait()
	for i, t := range trials {
		if faults[i] == nil {
			results = append(results, t.result)
		}
	}
	return results, errors.Join(faults...)
}

func prepare(ctx context.Context, cfg Config, dir string, server *postmaster.Server) (trials []*trial, err error) {
	for i, p := range parts {
		if !strings.Contains(p.name(), cfg.Only) {
			continue
		}
		t := &trial{cfg: cfg, part: p}
		t.prepare(filepath.Join(dir, fmt.Sprint(i)))
		if err := os.Mkdir(t.dir, 0o700); err != nil {
			return nil, err
		}
		if p.etcd {
			t.store, t.server, err = startEtcd(ctx, cfg, t.etcdDir())
		} else {
			t.store, err = database(ctx, server, p, i, cfg.Schemas[p.peer])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name(), err)
		}
		trials = append(trials, t)
	}
	if len(trials) == 0 {
		return nil, fmt.Errorf("no peer's name holds %q", cfg.Only)
	}
	return trials, nil
}
