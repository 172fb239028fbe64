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
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg"
)

// farewell is how long a node without a supervisor may take to end.
const farewell = 2 * time.Second

// errAlone ends a node whose supervisor is gone.
var errAlone = errors.New("the demo that started this node is gone")

// demoNode is what the demo and the chaos tests run several of. It reports on
// stdout and lives no longer than its stdin stays open.
func (l lab) demoNode() *cobra.Command {
	cfg := worker.Config{}
	takeover, file, listen := "", "", ""
	cmd := &cobra.Command{
		Use:     demo.NodeCommand,
		Short:   "one process of the demo",
		Example: "  conch demo-node --id node-1 --scope demo --dir /tmp/evidence",
		Hidden:  true,
		Args:    cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&cfg.ID, "id", "", "its name")
	flags.StringVar(&cfg.Scope, "scope", demo.Scope, "what it wants to lead")
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "its lease")
	flags.StringVar(&takeover, "takeover", string(election.Strict), "strict, fast or keep")
	flags.StringVar(&cfg.Dir, "dir", "", "where its evidence goes")
	flags.DurationVar(&cfg.LedgerPace, "ledger-pace", 0, "from one row to the next; 0: the default")
	flags.DurationVar(&cfg.OutsidePace, "outside-pace", 0, "from one outside act to the next; 0: the default")
	flags.DurationVar(&cfg.OutsideMost, "outside-most", 0, "what the gate is told that an outside act may take; 0: the default")
	flags.StringVar(&file, "config", "", "the `file` that makes it a conch node as well; empty: it is none")
	flags.StringVar(&listen, "listen", "", "`address` of that node's API")
	cmd.RunE = cli.Does(func(ctx context.Context) (err error) {
		cfg.Takeover = election.Takeover(takeover)
		cfg.Logger = l.Log
		if cfg.Database, err = l.Configure(); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return cli.Usagef("%w", err)
		}
		cfg.Report = func(r worker.Report) { _ = l.Document(r) }
		ctx, release := l.whileSupervised(ctx)
		defer release()
		err = l.both(ctx, cfg, config.Source{Path: file, ID: cfg.ID, Listen: listen})
		if cause := context.Cause(ctx); errors.Is(cause, errAlone) {
			return cause
		}
		return err
	})
	return cmd
}

// both is the life of a node of the demo, and in the same process that of a conch node
// as `conch node` runs it. When one ends, so does the other.
func (l lab) both(ctx context.Context, cfg worker.Config, src config.Source) error {
	if src.Path == "" {
		return worker.Run(ctx, cfg)
	}
	// Of the environment it sees the demo's database, and nothing of the caller's.
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

// whileSupervised ends when the supervisor, who holds our stdin open, is gone. A
// process that does not end in time then is ended.
func (l lab) whileSupervised(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, l.Stdin)
		cancel(errAlone)
		time.AfterFunc(farewell, func() { os.Exit(cli.Failed) })
	}()
	return ctx, func() { cancel(nil) }
}
