package lab

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending/pendingtest"
)

// simPending makes the command that visits all states of the model of transactions.
func (l lab) simPending() *cobra.Command {
	var without string
	var help strings.Builder
	for _, r := range pendingtest.Rules() {
		fmt.Fprintf(&help, "  %-22s %s\n", r.Name, r.Why)
	}
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "transactions that wear out, from accounts that begin anew: all states of a model",
		Long: `pending visits every state of a small model: one intent, its attempts, a stranger with the
key, upgrades, forks, and an account that ceases to exist and begins anew. Old bytes may get
into any block that takes them. It checks that the intent is carried out once at most, and
that what is said of it is true. It runs no machine: the machine keeps the same rules, and
the tests of package pending try it on a chain in memory.

Rules, and what goes wrong without each:
` + help.String(),
		Example: `  conch-lab sim pending
  conch-lab sim pending --break no-pad`,
		Args: cli.NoArguments,
	}
	cmd.Flags().StringVar(&without, "break", "", "leave this `rule` out")
	cmd.RunE = cli.Does(func(context.Context) error {
		all, err := pendingtest.Model(without)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		return l.concludeModel(all)
	})
	return cmd
}

// concludeModel prints what came of the worlds.
func (l lab) concludeModel(all []pendingtest.Result) error {
	var rows []string
	fell := ""
	for _, one := range all {
		came := "holds"
		if one.Fault != "" {
			came = fmt.Sprintf("%s, in %d steps", one.Fault, one.Steps)
		}
		if one.Hopeless {
			came += " (no rule helps: such a key is refused)"
		} else if one.Fault != "" && fell == "" {
			fell = one.World + ": " + one.Fault
		}
		rows = append(rows, cli.Row("%s\t%d\t%s", one.World, one.States, came))
	}
	show := func() error { return l.Table("WORLD\tSTATES\tCAME OF IT", rows) }
	if l.JSON {
		show = func() error { return l.Document(all) }
	}
	if err := show(); err != nil || fell == "" {
		return err
	}
	return fmt.Errorf("a promise can be broken: %s", fell)
}
