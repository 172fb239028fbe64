package transactions

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (a *shell) txLife() *cobra.Command {
	var over uint64
	cmd := &cobra.Command{
		Use:   "life NAME [--over N]",
		Short: "how often an account has begun anew, or that its life is over",
		Long: `On some chains an account ceases to exist once it has nothing left, and begins anew, with its
first nonces, when it is funded. conch finds that in the blocks, and lets the next life begin
once nothing that it has signed in the old one can be included any more. If no node has these
blocks any more, the alarm "reaped" says that nobody knows: the account waits for your word.

life prints how often an account has begun anew. With --over it says that its life N is over:
say so only if you know that the account has ceased to exist since the transactions that are
final, by an explorer for instance. If it has not, what waits is signed once more.`,
		Example: `  conch tx life payments
  conch tx life payments --over 0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cli.Usagef("%q takes one account: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().Uint64Var(&over, "over", 0, "say that the account's life of this `number` is over")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		path := pathAccounts + "/" + url.PathEscape(args[0]) + "/life"
		method, body := http.MethodGet, any(nil)
		if cmd.Flags().Changed("over") {
			method, body = http.MethodPost, lifeBody{Over: &over}
		}
		var raw json.RawMessage
		if err := c.Ask(ctx, method, path, body, &raw); err != nil {
			return err
		}
		var view LifeView
		if json.Unmarshal(raw, &view) != nil || view.Account == "" {
			return c.Stranger()
		}
		if a.JSON {
			return a.Document(raw)
		}
		if view.Over {
			return a.Line("%s is in its life %d, which is over, as somebody has said: the next one begins once nothing that was signed before can be included", view.Account, view.Life)
		}
		return a.Line("%s is in its life %d, above block %d", view.Account, view.Life, view.Since)
	})
}
