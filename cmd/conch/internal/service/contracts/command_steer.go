package contracts

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (a *shell) cancel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ADDRESS ID",
		Short: "give a transaction of a contract up, if it is not too late",
		Long: `cancel has a node give up what one of its users has sent. What the chain may still carry out
it cancels on the chain. The transaction has ended once "conch contract show" says so: as
reverted, or as confirmed if it was faster.`,
		Example: `  conch contract cancel 0x5fbd… 8000…0104
  conch contract show 0x5fbd… 8000…0104 --wait`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return cli.Usagef("cancel takes the address of a contract and the ID of a transaction: see %q", cmd.CommandPath()+" --help")
		},
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, t, err := cli.Fetch(ctx, c, http.MethodPost, transactionsOf(args[0])+"/"+url.PathEscape(args[1])+"/cancel", func(t Told) bool { return t.ID != "" })
		if err != nil {
			return err
		}
		return a.fields(raw, t)
	})
}

func (a *shell) drain() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "drain ADDRESS",
		Short: "have a node coordinate a contract no more",
		Long: `drain has a node give back what it coordinates and has not dispatched, and take no more: the
next member of the committee does it. The node still owns what its users send, and endorses.
It stays drained until it is undrained (--undo) or started again.`,
		Example: `  conch contract drain 0x5fbd…
  conch contract drain 0x5fbd… --undo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cli.Usagef("drain takes the address of one contract: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "have it coordinate again")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		do := "/drain"
		if undo {
			do = "/undrain"
		}
		raw, k, err := cli.Fetch(ctx, c, http.MethodPost, pathContracts+"/"+url.PathEscape(args[0])+do, func(k Contract) bool { return k.Address != "" })
		if err != nil {
			return err
		}
		return a.one(raw, k)
	})
}
