package contracts

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Commands returns conch contract.
func Commands(s *cli.Shell) []*cobra.Command { return []*cobra.Command{(&shell{s}).contract()} }

// shell runs the commands.
type shell struct{ *cli.Shell }

func (a *shell) contract() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "contract",
		Short: "private contracts: create one, and send and follow its transactions",
		Long: `contract asks a node over its API. Each organisation asks its own node, which owns what its
users send until it is confirmed or reverted. contract does not use a database, so --db has
no effect.`,
		Example: `  conch contract list
  conch contract send 0x5fbd… --request '{"pay": {"from": "office", "to": "baker", "amount": 30}}' --wait
  conch contract show 0x5fbd…`,
	}, a.deploy(), a.showContract(), a.send(), a.list(), a.cancel(), a.drain())
}

func (a *shell) list() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list [ADDRESS]",
		Short: "the private contracts of a node, or the newest transactions of a contract",
		Long: `list prints the contracts of a node. With the address of one it prints the newest
transactions that the node's own users have sent to it.`,
		Example: `  conch contract list
  conch contract list --json | jq -r .address
  conch contract list 0x5fbd… --limit 20`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) <= 1 {
				return nil
			}
			return cli.Usagef("list takes the address of one contract, or nothing: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how `many` transactions at most")
	return a.Asks(cmd, func() error {
		if cmd.Flags().NArg() == 0 && cmd.Flags().Changed("limit") {
			return cli.Usagef("--limit is for the transactions of a contract: name its address too")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		var answer struct{ Contracts, Transactions []json.RawMessage }
		path := pathContracts
		if len(args) == 1 {
			path = transactionsOf(args[0]) + "?limit=" + strconv.Itoa(limit)
		}
		err := c.Ask(ctx, http.MethodGet, path, nil, &answer)
		switch {
		case err != nil:
			return err
		case len(args) == 0 && answer.Contracts != nil:
			return a.table(answer.Contracts)
		case len(args) == 1 && answer.Transactions != nil:
			return a.transactions(answer.Transactions)
		}
		return c.Stranger()
	})
}

// transactionsOf is where a node has the transactions of a contract.
func transactionsOf(address string) string {
	return pathContracts + "/" + url.PathEscape(address) + "/transactions"
}

func (a *shell) showContract() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "show ADDRESS [ID]",
		Short: "a contract and its members, or a transaction step by step",
		Example: `  conch contract show 0x5fbd…
  conch contract show 0x5fbd… 8000…0104 --wait`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return cli.Usagef("show takes the address of a contract, and perhaps the ID of a transaction: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the transaction has ended; while no node answers, keep asking")
	return a.Asks(cmd, func() error {
		if wait && cmd.Flags().NArg() == 1 {
			return cli.Usagef("--wait waits for a transaction: name its ID too")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		path := pathContracts + "/" + url.PathEscape(args[0])
		if len(args) == 1 {
			raw, k, err := cli.Fetch(ctx, c, http.MethodGet, path, func(k Contract) bool { return k.Address != "" })
			if err != nil {
				return err
			}
			return a.one(raw, k)
		}
		if path += "/transactions/" + url.PathEscape(args[1]); wait {
			return a.await(ctx, c, args[1], path)
		}
		raw, t, err := toldAt(ctx, c, path)
		if err != nil {
			return err
		}
		return a.story(raw, t)
	})
}

func (a *shell) send() *cobra.Command {
	var request, key string
	var deadline uint64
	var wait bool
	cmd := &cobra.Command{
		Use:   "send ADDRESS --request JSON",
		Short: "have a transaction of a contract carried out, once",
		Long: `send gives a transaction to a node and prints its ID. A command with the same --key is the
same transaction, even if the first had no answer. Without --key, send makes a key and
prints it if no answer came. A script that may be killed should set --key.
With --wait it prints each step on stderr, and returns when the transaction has ended: with 0
if it is confirmed, with 1 if it was reverted. While no node answers, it keeps asking. An
interrupted wait also returns 1; the transaction goes on.`,
		Example: `  conch contract send 0x5fbd… --request '{"issue": {"to": "office", "amount": 100}}' --wait
  conch contract send 0x5fbd… --request '{"pay": {"from": "office", "to": "baker", "amount": 30}}' --key invoice-17`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cli.Usagef("send takes the address of one contract: see %q", cmd.CommandPath()+" --help")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request, "request", "", "what the contract's domain takes, as `JSON`")
	flags.StringVar(&key, "key", "", "your own name for the transaction: it is carried out once, however often you repeat the command")
	flags.Uint64Var(&deadline, "deadline", 0, "the last `block` that is of use; 0: any")
	flags.BoolVar(&wait, "wait", false, "return when the transaction has ended; while no node answers, keep asking")
	return a.Asks(cmd, func() error {
		if !json.Valid([]byte(request)) {
			return cli.Usagef("--request is no JSON: see %q", cmd.CommandPath()+" --help")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		path := transactionsOf(args[0])
		key = cli.NewKey(key)
		id, err := a.Sends(ctx, c, wait, path, key, requestBody{json.RawMessage(request), key, deadline})
		switch {
		case err != nil:
			return err
		case wait:
			return a.await(ctx, c, id, path+"/"+id)
		}
		return a.Accepted(id)
	})
}
