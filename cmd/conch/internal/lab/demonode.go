//go:build unix

package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/lab/demo"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// endGrace is how long a node may take to end after its supervisor is gone.
const endGrace = 2 * time.Second

// errOrphaned ends a node whose supervisor is gone.
var errOrphaned = errors.New("the demo that started this node is gone")

// demoNode is the worker process of the demo, the bench and the chaos tests. It reports on
// stdout and ends when its stdin does.
func (l lab) demoNode() *cobra.Command {
	cfg := worker.Config{}
	takeover, file, listen := "", "", ""
	cmd := &cobra.Command{
		Use:     demo.NodeCommand,
		Short:   "one process of the demo",
		Example: "  conch-lab demo-node --id node-1 --scope demo --dir /tmp/evidence",
		Hidden:  true,
		Args:    cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&cfg.ID, "id", "", "its name")
	flags.StringVar(&cfg.Scope, "scope", demo.Scope, "the scope to campaign for")
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "its lease")
	flags.StringVar(&takeover, "takeover", string(mint.Strict), "strict, fast or keep")
	flags.StringVar(&cfg.Dir, "dir", "", "folder for the evidence")
	flags.DurationVar(&cfg.LedgerPace, "ledger-pace", 0, "from one row to the next; 0: the default")
	flags.DurationVar(&cfg.OutsidePace, "outside-pace", 0, "from one outside act to the next; 0: the default")
	flags.DurationVar(&cfg.OutsideMost, "outside-most", 0, "maximum for an outside act that the gate is told; 0: the default")
	flags.StringVar(&file, "config", "", "configuration `file` of a conch node in the same process; empty: none")
	flags.StringVar(&listen, "listen", "", "`address` of that node's API")
	cmd.RunE = cli.Does(func(ctx context.Context) (err error) {
		cfg.Takeover = mint.Takeover(takeover)
		cfg.Logger = l.Log
		if cfg.Database, err = l.Configure(); err != nil {
			return err
		}
		cfg.Database.About = func() pgmint.About { return pgmint.About{Version: l.Build.Version} }
		if err := cfg.Validate(); err != nil {
			return cli.Usagef("%w", err)
		}
		cfg.Report = func(r worker.Report) { _ = l.Document(r) }
		ctx, release := l.whileSupervised(ctx)
		defer release()
		err = l.runBoth(ctx, cfg, config.Source{Path: file, ID: cfg.ID, Listen: listen})
		if cause := context.Cause(ctx); errors.Is(cause, errOrphaned) {
			return cause
		}
		return err
	})
	return cmd
}

// runBoth runs a worker and, in the same process, a conch node as conch node does. When one
// ends, so does the other.
func (l lab) runBoth(ctx context.Context, cfg worker.Config, src config.Source) error {
	if src.Path == "" {
		return worker.Run(ctx, cfg)
	}
	// The node sees the demo's database and nothing else of the environment.
	src.Sections = node.Sections(l.Kinds)
	src.Named, src.Getenv = true, func(name string) string {
		if name != pg.EnvURL {
			return ""
		}
		return l.Getenv(name)
	}
	load := func() (config.Config, error) { return config.Load(src) }
	c, err := load()
	if err != nil {
		return cli.Usagef("%w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lives := []func() error{
		func() error { return worker.Run(ctx, cfg) },
		func() error {
			return node.Run(ctx, node.Options{Config: c, Load: load, Version: l.Build.Version, Log: l.Log, Kinds: l.Kinds})
		},
	}
	faults := make([]error, len(lives))
	var living sync.WaitGroup
	for i, live := range lives {
		living.Go(func() {
			defer cancel()
			faults[i] = live()
		})
	}
	living.Wait()
	return errors.Join(faults...)
}

// whileSupervised returns a context that ends when the supervisor, which holds our stdin
// open, is gone. If the process has not ended after endGrace, it exits.
func (l lab) whileSupervised(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, l.Stdin)
		cancel(errOrphaned)
		time.AfterFunc(endGrace, func() { os.Exit(cli.Failed) })
	}()
	return ctx, func() { cancel(nil) }
}
