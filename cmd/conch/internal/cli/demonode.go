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
	flags.DurationVar(&cfg.LedgerPace, "ledger-pace", 0, "from one row to the next; 0: the default")
	flags.DurationVar(&cfg.OutsidePace, "outside-pace", 0, "from one outside act to the next; 0: the default")
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
		ctx, release := a.whileSupervised(ctx)
		defer release()
		err = worker.Run(ctx, cfg)
		if cause := context.Cause(ctx); errors.Is(cause, errAlone) {
			return cause
		}
		return err
	})
	return cmd
}

// whileSupervised ends when the supervisor, who holds our stdin open, is gone. A
// process that does not end in time then is ended.
func (a *app) whileSupervised(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, a.Stdin)
		cancel(errAlone)
		time.AfterFunc(farewell, func() { os.Exit(failed) })
	}()
	return ctx, func() { cancel(nil) }
}
