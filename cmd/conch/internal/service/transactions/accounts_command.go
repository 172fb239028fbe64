package transactions

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (a *shell) txAccounts() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accounts [NAME]",
		Short: "the accounts that send: what they have, and what they wait for",
		Long: `accounts asks a node for its accounts, or for one of them by its name or address. BALANCE and
NONCE are as of a block that an endpoint has just named, and - if none says so now: --json says
why, and names the block. NEXT is the nonce of the next transaction. QUEUED have no nonce,
FLIGHT have one and are in no block, and BLOCK are in a block that is not final.`,
		Example: `  conch tx accounts
  conch tx accounts payments --json | jq -r .balance`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("%q takes one name at most: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
			}
			return nil
		},
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		if len(args) == 1 {
			raw, _, err := cli.Fetch(ctx, c, http.MethodGet, pathAccounts+"/"+url.PathEscape(args[0]), func(v AccountView) bool { return v.Name != "" })
			if err != nil {
				return err
			}
			return a.accounts([]json.RawMessage{raw})
		}
		var answer struct{ Accounts []json.RawMessage }
		if err := c.Ask(ctx, http.MethodGet, pathAccounts, nil, &answer); err != nil {
			return err
		}
		if answer.Accounts == nil {
			return c.Stranger()
		}
		return a.accounts(answer.Accounts)
	})
}

// accounts prints accounts.
func (a *shell) accounts(all []json.RawMessage) error {
	return cli.Entries(a.Shell, all, "NAME\tCHAIN\tADDRESS\tBALANCE\tNONCE\tNEXT\tQUEUED\tFLIGHT\tBLOCK\tLEADS\tWAITS", func(v AccountView) string {
		leads, waits := "-", v.Unknown
		if v.Leads {
			leads = "here"
		}
		if v.Waits != nil {
			waits = v.Waits.Reason
		}
		return cli.Row("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s", v.Name, v.Chain, v.Address, cli.OrDash(text(v.Balance)), cli.OrDash(number(v.Nonce)),
			cli.OrDash(number(v.NextNonce)), v.Queued, v.InFlight, v.InBlock, leads, cli.OrDash(waits))
	})
}
