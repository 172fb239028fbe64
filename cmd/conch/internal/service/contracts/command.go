package contracts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

const lookEvery = 300 * time.Millisecond

// Commands returns conch contract.
func Commands(s *cli.Shell) []*cobra.Command { return []*cobra.Command{(&shell{s}).contract()} }

// shell runs the commands.
type shell struct{ *cli.Shell }

// client asks a node about contracts.
type client struct{ cli.Client }

func (a *shell) contract() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "private contracts: create one, and send and follow its transactions",
		Long: `contract asks a node over its API. Each organisation asks its own node, which owns what its
users send until it is confirmed or reverted. contract does not use a database, so --db has
no effect.`,
		Example: `  conch contract list
  conch contract send 0x5fbd… --request '{"pay": {"from": "office", "to": "baker", "amount": 30}}' --wait
  conch contract show 0x5fbd…`,
		Args: cli.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("contract needs one of deploy, show, send, list: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.AddCommand(a.deploy(), a.showContract(), a.send(), a.listContracts())
	return cmd
}

func (a *shell) listContracts() *cobra.Command {
	var c client
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the private contracts of a node",
		Example: `  conch contract list
  conch contract list --json | jq -r .address`,
		Args: cli.NoArguments,
	}
	c.Flags(cmd)
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		if err := c.Prepare(a.Getenv); err != nil {
			return err
		}
		var answer struct{ Contracts []json.RawMessage }
		if err := c.Ask(ctx, http.MethodGet, pathContracts, nil, &answer); err != nil {
			return err
		}
		if answer.Contracts == nil {
			return c.Stranger()
		}
		return a.table(answer.Contracts)
	})
	return cmd
}

func (a *shell) showContract() *cobra.Command {
	var c client
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
	c.Flags(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the transaction has ended; while no node answers, keep asking")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			if wait && len(args) == 1 {
				return cli.Usagef("--wait waits for a transaction: name its ID too")
			}
			if err := c.Prepare(a.Getenv); err != nil {
				return err
			}
			switch path := pathContracts + "/" + url.PathEscape(args[0]); {
			case wait:
				return a.await(ctx, &c, path+"/transactions/"+url.PathEscape(args[1]))
			case len(args) == 2:
				raw, t, err := c.transaction(ctx, path+"/transactions/"+url.PathEscape(args[1]))
				if err != nil {
					return err
				}
				return a.story(raw, t)
			default:
				var raw json.RawMessage
				if err := c.Ask(ctx, http.MethodGet, path, nil, &raw); err != nil {
					return err
				}
				return a.one(&c, raw)
			}
		})(cmd, args)
	}
	return cmd
}

// sendRequest asks a node to carry something out, once for all requests with the same key.
type sendRequest struct {
	Request  json.RawMessage `json:"request"`
	Key      string          `json:"idempotency_key"`
	Deadline uint64          `json:"deadline,omitempty"`
}

func (a *shell) send() *cobra.Command {
	var c client
	var request, key string
	var deadline uint64
	var wait bool
	cmd := &cobra.Command{
		Use:   "send ADDRESS --request JSON",
		Short: "have a transaction of a contract carried out, once",
		Long: `send gives a transaction to a node and prints its ID. A command with the same --key is the
same transaction, even if the first had no answer. Without --key, send makes a key and
prints it if no answer came. A script that may be killed should set --key.
With --wait it returns when the transaction has ended: with 0 if it is confirmed, with 1 if
it was reverted. While no node answers, it keeps asking.`,
		Example: `  conch contract send 0x5fbd… --request '{"issue": {"to": "office", "amount": 100}}' --wait
  conch contract send 0x5fbd… --request '{"pay": {"from": "office", "to": "baker", "amount": 30}}' --key invoice-17`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cli.Usagef("send takes the address of one contract: see %q", cmd.CommandPath()+" --help")
		},
	}
	c.Flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&request, "request", "", "what the contract's domain takes, as `JSON`")
	flags.StringVar(&key, "key", "", "your own name for the transaction: it is carried out once, however often you repeat the command")
	flags.Uint64Var(&deadline, "deadline", 0, "the last `block` that is of use; 0: any")
	flags.BoolVar(&wait, "wait", false, "return when the transaction has ended; while no node answers, keep asking")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			if !json.Valid([]byte(request)) {
				return cli.Usagef("--request is no JSON: see %q", cmd.CommandPath()+" --help")
			}
			if err := c.Prepare(a.Getenv); err != nil {
				return err
			}
			if key == "" {
				key = "cli-" + rand.Text()
			}
			path := pathContracts + "/" + url.PathEscape(args[0]) + "/transactions"
			var answer accepted
			err := c.Ask(ctx, http.MethodPost, path, sendRequest{json.RawMessage(request), key, deadline}, &answer)
			if err == nil && answer.ID == "" {
				err = c.Stranger()
			}
			if cli.Unanswered(err) {
				return fmt.Errorf("%w; the transaction may have been accepted: repeat the command with --key %s to find out and have it carried out once", err, key)
			}
			switch {
			case err != nil:
				return err
			case wait:
				return a.await(ctx, &c, path+"/"+answer.ID)
			case a.JSON:
				return a.Document(answer)
			}
			return a.Line("%s", answer.ID)
		})(cmd, args)
	}
	return cmd
}
