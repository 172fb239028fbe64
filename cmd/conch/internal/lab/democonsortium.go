//go:build unix

package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
)

// demoSequencer runs the demo of the sequencer, which has no use for some flags of the other one.
func (l lab) demoSequencer(ctx context.Context, cmd *cobra.Command, cfg consortium.Config) error {
	for _, other := range []string{"nodes", "lease", "no-chain"} {
		if cmd.Flags().Changed(other) {
			return cli.Usagef("--sequencer has five organisations and needs a chain: leave --%s out", other)
		}
	}
	return l.runConsortium(ctx, cfg)
}

func (l lab) runConsortium(ctx context.Context, cfg consortium.Config) error {
	var err error
	if cfg.Program, cfg.Progress, err = l.private(ctx, "demo", cfg.Validate()); err != nil {
		return err
	}
	if cfg.Devnode = devnode.Find(cfg.Program); cfg.Devnode == "" {
		return cli.Usagef("%s is neither beside this program nor on the PATH, and contracts need a chain: \"make build\" in the source of conch makes both", devnode.Name)
	}
	if cfg.Logs != "" {
		if err := os.MkdirAll(cfg.Logs, 0o700); err != nil {
			return cli.Usagef("--logs: %w", err)
		}
	}
	cfg.Kinds = l.Kinds
	cfg.Terminal, cfg.Width = cli.Terminal(cfg.Progress)
	verdict, err := consortium.Run(ctx, cfg)
	if err != nil {
		return err
	}
	fault := verdict.Fault()
	if err := l.printConsortium(verdict, fault == nil); err != nil {
		return err
	}
	return fault
}

// toldViolations is how many violations are printed.
const toldViolations = 20

func (l lab) printConsortium(v auditor.Verdict, whole bool) error {
	if l.JSON {
		return l.Document(v)
	}
	rows := []string{
		fmt.Sprintf("accepted\t%d\tby the nodes; what follows is compared with the ledger", v.Accepted),
		fmt.Sprintf("confirmed\t%d", v.Confirmed),
		fmt.Sprintf("reverted\t%d", v.Reverted),
		fmt.Sprintf("kills\t%d", v.Kills), fmt.Sprintf("pauses\t%d", v.Pauses), fmt.Sprintf("partitions\t%d", v.Partitions),
		fmt.Sprintf("landed\t%d\ton the ledger, with those that issue notes", v.Landed),
		fmt.Sprintf("twice\t%d", v.Twice), fmt.Sprintf("lost\t%d", v.Lost), fmt.Sprintf("untrue\t%d", v.Untrue),
		fmt.Sprintf("dispatch\t%s\tms from the kill of a coordinator to the next dispatch", v.Dispatch),
		fmt.Sprintf("conserved\t%t", v.Conserved),
	}
	if err := l.Table("", rows); err != nil {
		return err
	}
	for _, violation := range v.Violations[:min(len(v.Violations), toldViolations)] {
		if err := l.Line("VIOLATION: %s", violation); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	return l.Line("\nBy the ledger each of %d intents landed once, all else was reverted as it was told, no note was spent twice,\n"+
		"and the notes hold what was issued.", v.Landed)
}
