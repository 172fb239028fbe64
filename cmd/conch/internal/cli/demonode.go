//go:build unix

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/demo"
	"github.com/conchhq/conch/cmd/conch/internal/worker"
	"github.com/conchhq/conch/election"
)

// farewell is how long a node without a supervisor may take to end.
const farewell = 2 * time.Second

// errAlone ends a node whose supervisor is gone.
var errAlone = errors.New("the demo that started this node is gone")

// demoNode is what the demo and the chaos tests run several of. It reports on
// stdout and lives no longer than its stdin stays open.
func (a *app) demoNode() *cobra.Command {
	cfg := worker.Config{}
	takeover := ""
	cmd := &cobra.Command{
		Use:     demo.NodeCommand,
		Short:   "one process of the demo",
		Example: "  conch demo-node --id node-1 --scope demo --dir /tmp/evidence",
		Hidden:  true,
		Args:    noArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&cfg.ID, "id", "", "its name")
	flags.StringVar(&cfg.Scope, "scope", demo.Scope, "what it wants to lead")
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "its lease")
	flags.StringVar(&takeover, "takeover", string(election.Strict), "strict, fast or keep")
	flags.StringVar(&cfg.Dir, "dir", "", "where its evidence goes")
	cmd.RunE = does(func(ctx context.Context) (err error) {
		cfg.Takeover = election.Takeover(takeover)
		cfg.Logger = a.log
		if cfg.Database, err = a.configure(); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return usage{err}
		}
		cfg.Report = func(r worker.Report) { _ = a.document(r) }
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			_, _ = io.Copy(io.Discard, a.Stdin)
			cancel(errAlone)
			time.AfterFunc(farewell, func() { os.Exit(failed) })
		}()
		err = worker.Run(ctx, cfg)
		if cause := context.Cause(ctx); errors.Is(cause, errAlone) {
			return cause
		}
		return err
	})
	return cmd
}
