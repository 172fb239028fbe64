//go:build unix

package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
)

// demoSequencer runs the demo of the sequencer, which has no use for some flags of the other one.
func (l lab) demoSequencer(ctx context.Context, cmd *cobra.Command, cfg consortium.Config) error {
	if err := unused(cmd, "--sequencer has five organisations and needs a chain", "nodes", "lease", "no-chain"); err != nil {
		return err
	}
	return l.runConsortium(ctx, cfg)
}

func (l lab) runConsortium(ctx context.Context, cfg consortium.Config) error {
	command := "demo"
	if cfg.Chaos != nil {
		command = "chaos"
	}
	program, shown, err := l.private(ctx, command, cfg.Validate())
	if err != nil {
		return err
	}
	cfg.Screen = shown
	if cfg.Program, err = product(program); err != nil {
		return err
	}
	if cfg.Devnode = devnode.Find(program); cfg.Devnode == "" {
		return cli.Usagef("%s is neither beside this program nor on the PATH, and contracts need a chain: \"make build\" in the source of conch makes both", devnode.Name)
	}
	if cfg.Logs != "" {
		if err := os.MkdirAll(cfg.Logs, 0o700); err != nil {
			return cli.Usagef("--logs: %w", err)
		}
	}
	cfg.Kinds = l.Kinds
	verdict, err := consortium.Run(ctx, cfg)
	fault := verdict.Fault()
	if cfg.Chaos != nil { // a run that fails has to be seen again
		if err != nil {
			err = fmt.Errorf("%w; see the plan again with: %s", err, cfg.Replay())
		}
		if fault != nil {
			fault = fmt.Errorf("%w; see the plan again with: %s", fault, cfg.Replay())
		}
		fault = cutShort(ctx, fault, cfg.Replay())
	}
	if err != nil {
		return err
	}
	return l.judged(verdict, fault, func() error { return l.printConsortium(verdict, fault == nil) })
}

func (l lab) printConsortium(v auditor.Verdict, whole bool) error {
	rows := []string{
		fmt.Sprintf("accepted\t%d\tby the nodes; what follows is compared with the ledger", v.Accepted),
		fmt.Sprintf("confirmed\t%d", v.Confirmed),
		fmt.Sprintf("reverted\t%d", v.Reverted),
		fmt.Sprintf("kills\t%d", v.Kills), fmt.Sprintf("pauses\t%d", v.Pauses), fmt.Sprintf("partitions\t%d", v.Partitions),
		fmt.Sprintf("landed\t%d\ton the ledger, with those that issue notes", v.Landed),
		fmt.Sprintf("skipped\t%d\tentries of the nodes that the ledger has not taken", v.Skipped),
		fmt.Sprintf("calm\t%d\tof those while nothing was done to any node, beside %d that landed", v.Calm.Skipped, v.Calm.Landed),
		fmt.Sprintf("twice\t%d", v.Twice), fmt.Sprintf("lost\t%d", v.Lost), fmt.Sprintf("untrue\t%d", v.Untrue),
		fmt.Sprintf("denied\t%d\treverted, though nobody had ended it", v.Denied),
		fmt.Sprintf("dispatch\t%s\tms from the kill of a coordinator to the next dispatch", v.Dispatch),
		fmt.Sprintf("conserved\t%t", v.Conserved),
	}
	if err := l.Table("", append(rows, chaosRows(v)...)); err != nil {
		return err
	}
	if err := l.violated(v.Violations); err != nil || !whole {
		return err
	}
	return l.Line("\nBy the ledger each of %d intents landed once, all else was reverted as it was told, no note was spent twice,\n"+
		"and the notes hold what was issued.", v.Landed)
}

// chaosRows are those of what the demo does not do.
func chaosRows(v auditor.Verdict) (rows []string) {
	for _, k := range consortium.Kinds() {
		if n, done := v.Faults[string(k)]; done {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s", k, n, consortium.Describe(k)))
		}
	}
	if v.Restores > 0 {
		rows = append(rows,
			fmt.Sprintf("forgotten\t%d\taccepted, and lost with %d restored databases", v.Forgotten, v.Restores),
			fmt.Sprintf("again\t%d\tof those, asked for again and landed twice", v.Again),
			fmt.Sprintf("taken back\t%d\ttold reverted, forgotten, and confirmed", v.TakenBack))
	}
	if a := v.Attack; a != nil {
		rows = append(rows, fmt.Sprintf("attacks\t%d\t%s", sum(a.Sent), list(a.Sent)),
			fmt.Sprintf("refused\t%d\t%s", sum(a.Refused), list(a.Refused)),
			fmt.Sprintf("ahead\t%d\tof those, copies that were there before what landed", a.Ahead))
	}
	return rows
}

func sum(of map[string]int) (n int) {
	for _, one := range of {
		n += one
	}
	return n
}

func list(of map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(all, ", ")
}
