package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// defaultFile is the configuration file that is read unless another is named.
const defaultFile = "conch.toml"

func (a *app) node() *cobra.Command {
	src := config.Source{}
	cmd := &cobra.Command{
		Use:   "node",
		Short: "the daemon: campaigns for the roles of a configuration file and runs them while it leads",
		Long: `node reads a configuration file, campaigns for each of its roles and runs a role
while it leads: a command, calls to another program, or nothing but a gate for
others to ask. It serves an HTTP API, health and metrics.

SIGTERM drains: gates shut, roles end, what was led is released, and only then the
process ends; a second SIGTERM hurries. SIGHUP, or "conch reload", reads the file,
tokens and certificates again. Flags win over the environment, that over the file.
docs/configuration.md lists every key.`,
		Example: `  conch node --config /etc/conch.toml
  conch node --config conch.toml --id node-1 --listen 127.0.0.1:7071
  CONCH_DB_URL=postgres://app_node@db.example/app conch node --log-format json`,
		Args: NoArguments,
	}
	nodeFlags(cmd, &src)
	levelFlag(cmd.Flags(), "info") // the log of a daemon should say who leads
	cmd.RunE = Does(func(ctx context.Context) error {
		load := func() (config.Config, error) { return a.load(src) }
		cfg, err := load()
		if err != nil {
			return usage{err}
		}
		if err := node.Check(cfg, a.Kinds); err != nil {
			return usage{err}
		}
		reload, hurry, stop := heed(ctx)
		defer stop()
		keeper.ReapAdopted()
		return node.Run(ctx, node.Options{
			Config: cfg, Load: load, Version: a.Build.Version, Log: a.Log, LostLines: a.spool.Lost, Reload: reload, Hurry: hurry, Kinds: a.Kinds,
		})
	})
	return lasting(cmd)
}

// nodeFlags adds the flags that a node accepts beside its file.
func nodeFlags(cmd *cobra.Command, src *config.Source) {
	fileFlag(cmd, &src.Path)
	idFlag(cmd, &src.ID)
	cmd.Flags().StringVar(&src.Listen, "listen", "", "`address` of the API, or off")
	cmd.Flags().StringVar(&src.OpsListen, "ops-listen", "", "`address` of /healthz, /readyz and /metrics")
}

func idFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "id", "", "under which `name` the node campaigns; default: made of host and process")
}

func fileFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "config", defaultFile, "the configuration `file`")
}

// load reads a configuration, with the flags and the environment.
func (a *app) load(src config.Source) (config.Config, error) {
	src.DB, src.Getenv, src.Named, src.Sections = a.DB, a.Getenv, a.names(), node.Sections(a.Kinds)
	return config.Load(src)
}

// heed turns SIGHUP into a request for a reload, and the second SIGTERM or Ctrl-C into one for
// haste. Main handles the first one.
func heed(ctx context.Context) (reload, hurry <-chan struct{}, stop func()) {
	hangups, ends := make(chan os.Signal, 1), make(chan os.Signal, 2)
	signal.Notify(hangups, syscall.SIGHUP) // under nohup, too: it ends nothing here, and conch reload sends it
	signal.Notify(ends, keeper.Heeded(os.Interrupt, syscall.SIGTERM)...)
	again, haste, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		count := 0
		for {
			select {
			case <-hangups:
				select {
				case again <- struct{}{}:
				case <-ctx.Done():
				case <-over:
					return
				}
			case <-ends:
				if count++; count == 2 {
					close(haste)
				}
			case <-over:
				return
			}
		}
	}()
	return again, haste, func() { signal.Stop(hangups); signal.Stop(ends); close(over) }
}
