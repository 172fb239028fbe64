package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

// maxDrain is more time than any role should take to end.
const maxDrain = time.Hour

func (a *app) drain() *cobra.Command {
	r := pgops.Request{}
	cmd := &cobra.Command{
		Use:   "drain --scope S",
		Short: "have the leader of a scope give it up in order",
		Long: `drain asks the leader of a scope to give it up: its gate shuts, its role ends,
then it releases, and another candidate takes over at once. It returns when that
is done. If the role has not ended when the time is up the scope is given up all
the same, but not released: its successor waits as after a crash. Exit 1 then.`,
		Example: `  conch drain --scope payments
  conch drain --scope payments --timeout 30s --json`,
		Args: NoArguments,
	}
	a.handOver(cmd, &r)
	return cmd
}

func (a *app) transfer() *cobra.Command {
	r := pgops.Request{}
	cmd := &cobra.Command{
		Use:   "transfer --scope S --to ID",
		Short: "hand a scope over to a certain candidate",
		Long: `transfer is drain in favour of one candidate: it is told to get ready, the leader
gives the scope up, and others hold back for a moment. "conch status" lists the
candidates.`,
		Example: `  conch transfer --scope payments --to node-2
  conch transfer --scope payments --to node-2 --timeout 30s --json`,
		Args: NoArguments,
	}
	cmd.Flags().StringVar(&r.To, "to", "", "the `ID` of the successor")
	a.handOver(cmd, &r)
	return cmd
}

// handOver gives drain and transfer their flags and their work.
func (a *app) handOver(cmd *cobra.Command, r *pgops.Request) {
	flags := cmd.Flags()
	flags.StringVar(&r.Scope, "scope", "", "which `scope`")
	flags.DurationVar(&r.Timeout, "timeout", 0, "how long the role may take to end; default: its drain_timeout, which is 10s unless configured")
	cmd.RunE = Does(func(ctx context.Context) error {
		if !flags.Changed("scope") {
			return Usagef("%s needs --scope: %q lists all", cmd.Name(), "conch status")
		}
		if err := validScope(r.Scope); err != nil {
			return err
		}
		if cmd.Name() == "transfer" {
			if !flags.Changed("to") {
				return Usagef("transfer needs --to: %q lists the candidates", "conch status")
			}
			if err := election.ValidID(r.To); err != nil {
				return usage{err}
			}
		}
		if flags.Changed("timeout") && (r.Timeout < time.Millisecond || r.Timeout > maxDrain) {
			return Usagef("--timeout %s is not between 1ms and %s", r.Timeout, maxDrain)
		}
		r.Actor = operator()
		return a.askLeader(ctx, *r)
	})
}

func (a *app) askLeader(ctx context.Context, r pgops.Request) error {
	cfg, err := a.ready(ctx)
	if err != nil {
		return err
	}
	held, err := pgops.Ask(ctx, cfg, r, func(text string) { a.Say("%s", text) })
	if err == nil {
		return a.printHandOver(held, "done")
	}
	if held.Held {
		if fault := a.printHandOver(held, "failed"); fault != nil {
			return fault
		}
	}
	return remedy(err)
}

// remedy adds to an error the command that tells more.
func remedy(err error) error {
	if errors.Is(err, pgops.ErrNobodyLeads) {
		return fmt.Errorf("%w: \"conch status\" lists the scopes and their candidates", err)
	}
	if late, ok := errors.AsType[*pgops.UnansweredError](err); ok && late.Taken {
		return fmt.Errorf("%w: \"conch history --scope %s\"", err, late.Scope)
	}
	return err
}

func (a *app) printHandOver(before pgops.ScopeStatus, state string) error {
	if a.JSON {
		return a.Document(map[string]any{"scope": before.Scope, "from": before.Holder, "epoch": before.Epoch, "state": state})
	}
	if state != "done" {
		return nil
	}
	return a.Line("%s gave up %q, epoch %d", before.Holder, before.Scope, before.Epoch)
}
