//go:build unix

package lab

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/agents"
	"github.com/conchhq/conch/cmd/conch/internal/lab/bench"
	"github.com/conchhq/conch/cmd/conch/internal/lab/board"
	"github.com/conchhq/conch/cmd/conch/internal/lab/browser"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

func (l lab) bench() *cobra.Command {
	cfg := bench.Config{}
	var markdown bool
	all := strings.Join(bench.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(bench.Names(), "|") + "]",
		Short: "measure, each figure beside the raw ceiling of the same run",
		Long: `bench measures what conch costs and how fast it is, each figure beside what the
same run measured without conch: the clock, the lock, the transaction, the chain's
node, the signatures, other libraries. Without a name it runs, one after the other,
` + all + `.

It starts a private Postgres on a disk, with fsync on, and separate conch processes,
which it kills, stops and cuts off. With --db it measures on that server instead, in a
database that it creates and drops: the role needs CREATEDB. CONCH_DB_URL and PG* are
not read, so that no server is used by accident. The benches gate, gossip and log need none.

The benches pending and sequencer need conch-devnode: beside conch, on the PATH, or
named by CONCH_DEVNODE. The bench gossip starts conch-members likewise (CONCH_MEMBERS),
which runs memberlist and serf; without it nothing stands beside conch's own figures.

The bench log runs five members, each a process with a file of its own in TMPDIR,
beside the bare raft core in as many processes on the same kind of files: TMPDIR is best
on the disk that a node would have. It starts conch-etcd likewise (CONCH_ETCD), which
runs as many members of etcd. The bench schedule starts conch-river (CONCH_RIVER). The bench
ui looks at a node's page with chromium (CONCH_CHROMIUM), and has what was asked for as its
ceilings.`,
		Example: `  conch-lab bench
  conch-lab bench election --quick
  conch-lab bench pending --markdown
  conch-lab bench pending --only told,limited
  conch-lab bench sequencer --quick
  conch-lab bench gossip
  conch-lab bench schedule --quick
  conch-lab bench ui
  TMPDIR=/var/tmp conch-lab bench log
  conch-lab bench fence --db postgres://app_owner@db.example/app --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.Usagef("bench takes one name or none: %s", all)
			case len(args) == 1 && !slices.Contains(bench.Names(), args[0]):
				return cli.Usagef("there is no bench %q: it is one of %s", args[0], all)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "lease of the measured leaders")
	flags.BoolVar(&cfg.Quick, "quick", false, "a few samples of each, for a test run only")
	flags.StringSliceVar(&cfg.Only, "only", nil, "parts of the bench pending: "+strings.Join(bench.Parts(), ", "))
	flags.BoolVar(&markdown, "markdown", false, "print tables for a document")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names := args
		if len(names) == 0 {
			names = bench.Names()
		}
		return cli.Does(func(ctx context.Context) error { return l.runBench(ctx, cfg, names, markdown) })(cmd, args)
	}
	return cmd
}

func (l lab) runBench(ctx context.Context, cfg bench.Config, names []string, markdown bool) error {
	if err := cfg.Validate(); err != nil {
		return cli.Usagef("%w", err)
	}
	if len(cfg.Only) > 0 && !slices.Equal(names, []string{"pending"}) {
		return cli.Usagef("--only is for \"bench pending\", which alone has parts that can be measured without the others")
	}
	if markdown && l.JSON {
		return cli.Usagef("--markdown and --json are two ways to print the same: give one")
	}
	var err error
	if cfg.Program, err = own(); err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{"pending", "files", "sequencer", "schedule", "ui"}, name)
	}) {
		if cfg.Conch, err = product(cfg.Program); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return name == "pending" || name == "sequencer" }) {
		if cfg.Devnode = devnode.Find(cfg.Program); cfg.Devnode == "" {
			return cli.Usagef("%s is neither beside this program nor on the PATH: \"make build\" in the source of conch makes both, or name it by %s",
				devnode.Name, devnode.EnvProgram)
		}
	}
	cfg.Members, cfg.Etcd, cfg.River = members.Find(cfg.Program), members.FindEtcd(cfg.Program), members.FindRiver(cfg.Program)
	cfg.Browser = browser.Find()
	cfg.Database = l.DB
	if cfg.Database == "" {
		server := func(name string) bool { return !slices.Contains([]string{"gate", "gossip", "log"}, name) }
		if _, err := postmaster.Binaries(ctx); err != nil && slices.ContainsFunc(names, server) {
			return cli.Usagef("%w", err)
		}
		forgetDatabase()
	}
	cfg.Say = l.Say
	for i, name := range names {
		r, err := bench.Run(ctx, name, cfg)
		if err != nil {
			return err
		}
		if err := l.printBench(r, markdown, i > 0); err != nil {
			return err
		}
	}
	return nil
}

func (l lab) printBench(r bench.Report, markdown, apart bool) error {
	if l.JSON {
		return l.Document(r)
	}
	if apart {
		if err := l.Line(""); err != nil {
			return err
		}
	}
	if markdown {
		return l.Text(r.Markdown())
	}
	return l.Table(strings.ToUpper(r.Name)+"\tVALUE\tCEILING\tRATIO\tUNIT", r.Rows())
}

// benchHolder holds a plain lock, the ceiling, until it is killed or its stdin ends.
func (l lab) benchHolder() *cobra.Command {
	var lease time.Duration
	cmd := &cobra.Command{
		Use:     bench.HolderCommand,
		Short:   "one process that holds a plain advisory lock",
		Example: "  conch-lab bench-holder --lease 3s",
		Hidden:  true,
		Args:    cli.NoArguments,
	}
	cmd.Flags().DurationVar(&lease, "lease", 0, "of its session, by the server's clock; 0: none")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		cfg, err := l.Configure()
		if err != nil {
			return err
		}
		ctx, release := l.whileSupervised(ctx)
		defer release()
		return pgraw.Hold(ctx, cfg.URL, lease, func() {
			_ = l.Document(worker.Report{Kind: bench.Held, At: fence.Boottime()})
		})
	})
	return cmd
}

// benchAgent is one agent that may lead, until it is killed or its stdin ends.
func (l lab) benchAgent() *cobra.Command {
	return l.benchChild(bench.AgentCommand, "one process with an agent of gossip", agents.RunChild)
}

// benchMember is one member of a log, until it is killed or its stdin ends.
func (l lab) benchMember() *cobra.Command {
	return l.benchChild(bench.MemberCommand, "one process with a member of a log", board.RunChild)
}

// benchChild is a process of a bench, whose settings are in a file.
func (l lab) benchChild(name, short string, run func(ctx context.Context, file string, in io.Reader, out io.Writer) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{Use: name, Short: short, Example: "  conch-lab " + name + " --file settings.json", Hidden: true, Args: cli.NoArguments}
	cmd.Flags().StringVar(&file, "file", "", "`file` with its settings")
	cmd.RunE = cli.Does(func(ctx context.Context) error { return run(ctx, file, l.Stdin, l.Stdout) })
	return cmd
}
