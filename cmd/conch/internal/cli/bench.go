//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/bench"
	"github.com/conchhq/conch/cmd/conch/internal/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/worker"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

func (a *app) bench() *cobra.Command {
	cfg := bench.Config{}
	var markdown bool
	all := strings.Join(bench.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(bench.Names(), "|") + "]",
		Short: "measure, each figure beside the raw ceiling of the same run",
		Long: `bench measures what conch costs and how fast it is, each figure beside what the
same run measured without conch: the clock, the lock, the transaction, the chain's
node. Without a name it runs ` + all + `, one after the other.

It starts a private Postgres on a disk, with fsync on, and separate conch
processes that really are killed, stopped and cut off. With --db it measures on that
server instead, in a database that it creates and drops: the role needs
CREATEDB. CONCH_DB_URL and PG* are not read, so that it takes no server by accident.
The bench pending needs conch-devnode: beside conch, on the PATH, or named by CONCH_DEVNODE.`,
		Example: `  conch bench
  conch bench election --quick
  conch bench pending --markdown
  conch bench fence --db postgres://app_owner@db.example/app --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usagef("bench takes one name or none: %s", all)
			case len(args) == 1 && !slices.Contains(bench.Names(), args[0]):
				return usagef("there is no bench %q: it is one of %s", args[0], all)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "of the leaders that are measured")
	flags.BoolVar(&cfg.Quick, "quick", false, "a few samples of each: to see that it runs, not to quote")
	flags.BoolVar(&markdown, "markdown", false, "print tables for a document")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names := args
		if len(names) == 0 {
			names = bench.Names()
		}
		return does(func(ctx context.Context) error { return a.runBench(ctx, cfg, names, markdown) })(cmd, args)
	}
	return cmd
}

func (a *app) runBench(ctx context.Context, cfg bench.Config, names []string, markdown bool) error {
	if err := cfg.Validate(); err != nil {
		return usage{err}
	}
	if markdown && a.json {
		return usagef("--markdown and --json are two ways to print the same: give one")
	}
	var err error
	if cfg.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program's own file: %w", err)
	}
	if slices.Contains(names, "pending") {
		if cfg.Devnode = devnode.Find(cfg.Program); cfg.Devnode == "" {
			return usagef("%s is neither beside this program nor on the PATH: \"make build\" in the source of conch makes both, or name it by %s",
				devnode.Name, devnode.EnvProgram)
		}
	}
	cfg.Database = a.db
	if cfg.Database == "" {
		if _, err := postmaster.Binaries(ctx); err != nil {
			return usage{err}
		}
		forgetDatabase()
	}
	cfg.Say = func(format string, args ...any) { _, _ = fmt.Fprintf(a.Stderr, format+"\n", args...) }
	for i, name := range names {
		r, err := bench.Run(ctx, name, cfg)
		if err != nil {
			return err
		}
		if err := a.printBench(r, markdown, i > 0); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printBench(r bench.Report, markdown, apart bool) error {
	if a.json {
		return a.document(r)
	}
	if apart {
		if err := a.line(""); err != nil {
			return err
		}
	}
	if markdown {
		_, err := fmt.Fprint(a.Stdout, r.Markdown())
		return err
	}
	return a.table(strings.ToUpper(r.Name)+"\tVALUE\tCEILING\tRATIO\tUNIT", r.Rows())
}

// benchHolder is the process whose plain lock is the ceiling: it holds it until it
// is killed, or its stdin ends.
func (a *app) benchHolder() *cobra.Command {
	var lease time.Duration
	cmd := &cobra.Command{
		Use:     bench.HolderCommand,
		Short:   "one process that holds a plain advisory lock",
		Example: "  conch bench-holder --lease 3s",
		Hidden:  true,
		Args:    noArguments,
	}
	cmd.Flags().DurationVar(&lease, "lease", 0, "of its session, by the server's clock; 0: none")
	cmd.RunE = does(func(ctx context.Context) error {
		cfg, err := a.configure()
		if err != nil {
			return err
		}
		ctx, release := a.whileSupervised(ctx)
		defer release()
		return pgraw.Hold(ctx, cfg.URL, lease, func() {
			_ = a.document(worker.Report{Kind: bench.Held, At: fence.Boottime()})
		})
	})
	return cmd
}
