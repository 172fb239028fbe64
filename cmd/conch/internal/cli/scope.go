package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg"
)

func (a *app) scope() *cobra.Command {
	return Group(&cobra.Command{
		Use:     "scope",
		Short:   "tidy up scopes",
		Example: "  conch scope forget payments-test",
	}, a.scopeForget())
}

func (a *app) scopeForget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget SCOPE",
		Short: "take a scope off the lists of status, API, metrics and doctor until it is led again",
		Long: `forget takes a scope that nobody wants any more off the lists. Its epoch and its
history stay: if the scope is led again it is listed again, with the next epoch, so no
old token looks current. It is refused while somebody leads the scope or campaigns for
it. It needs the role that owns the schema.`,
		Example: `  conch scope forget payments-test
  conch --db "$OWNER_URL" scope forget payments-test --json`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("%q takes one scope: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
		}
		return Does(func(ctx context.Context) error {
			if err := validScope(args[0]); err != nil {
				return err
			}
			cfg, err := a.ready(ctx)
			if err == nil {
				err = pgops.Forget(ctx, cfg, args[0])
			}
			if led, ok := errors.AsType[*pgops.LedError](err); ok {
				return led
			}
			if err != nil {
				return pg.ForOwners(err)
			}
			if a.JSON {
				return a.Document(map[string]any{"scope": args[0], "forgotten": true})
			}
			return a.Line("%q is off the lists until it is led again; its epoch stays", args[0])
		})(cmd, nil)
	}
	return cmd
}
