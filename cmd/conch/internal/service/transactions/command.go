package transactions

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Commands returns conch tx, conch account, conch policy and conch webhooks.
func Commands(s *cli.Shell) []*cobra.Command {
	a := newShell(s)
	return []*cobra.Command{a.tx(), a.account(), a.policy(), a.webhooks()}
}

// shell runs the commands.
type shell struct {
	*cli.Shell
	cost evm.Cost // of guessing the password of a key that it makes
}

func newShell(s *cli.Shell) *shell { return &shell{s, evm.StandardCost} }

func (a *shell) tx() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "tx",
		Short: "send transactions through a node, and see what became of them",
		Long: `tx asks a node over its API. Any node accepts a transaction. The node that leads its
account gives it a nonce, signs, stores and sends it; a successor continues. tx does not
use a database, so --db has no effect.`,
		Example: `  conch tx send --account payments --to 0x00000000000000000000000000000000000000aa --value 1000 --wait
  conch tx list --fate queued`,
	}, a.txSend(), a.txShow(), a.txList(), a.txCancel(), a.txAccounts(), a.txLife())
}

// sending is what a command that sends is told.
type sending struct {
	*shell

	request   requestBody
	wish      wishFlags
	wait, dry bool
	until     string
}

func (a *shell) txSend() *cobra.Command {
	s := &sending{shell: a, request: requestBody{Value: new(string)}}
	cmd := &cobra.Command{
		Use:     "send --account NAME --to ADDRESS [--value N] [--data HEX | --function SIGNATURE ARGUMENT...]",
		Short:   "have a transaction sent, once",
		Long:    sendLong,
		Example: sendExample,
		Args:    cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	s.wish.add(cmd, &s.request)
	flags.StringVar(&s.request.Account, "account", "", "`name` or address of the account that sends")
	flags.StringVar(&s.request.To, "to", "", "`address` to call; without it --data creates a contract")
	flags.StringVar(s.request.Value, "value", "0", "`amount` in the chain's smallest unit")
	flags.StringVar(&s.request.Data, "data", "", "input of the call, as `hex` digits after 0x")
	flags.Uint64Var(&s.request.Gas, "gas", 0, "gas limit; 0 has it estimated")
	flags.StringVar(&s.request.Key, "key", "", "your own name for the transaction: it is sent once, however often you repeat the command")
	flags.BoolVar(&s.dry, "dry-run", false, "send nothing, and print what would become of it: what the policy, the contract and the fees say")
	waitFlags(cmd, &s.wait, &s.until)
	return a.Asks(cmd, func() error { return s.check(cmd) }, func(ctx context.Context, c *cli.Client, _ []string) error { return s.run(ctx, c) })
}

func (s *sending) check(cmd *cobra.Command) error {
	if err := checkUntil(cmd, s.wait, s.until); err != nil {
		return err
	}
	if err := s.wish.complete(&s.request, cmd.Flags().Args(), time.Now()); err != nil {
		return err
	}
	switch many := s.wish.file != ""; {
	case many && s.dry:
		return cli.Usagef("--dry-run tries one transaction out: leave --file out, and try each of its elements")
	case many && s.wait:
		return cli.Usagef("--wait follows one transaction: leave it out, and follow each ID with \"conch tx show ID --wait\"")
	case s.dry && s.wait:
		return cli.Usagef("--dry-run sends nothing that --wait could wait for")
	case !many && s.request.Account == "":
		return cli.Usagef("send needs --account: see %q", cmd.CommandPath()+" --help")
	}
	return nil
}

func (s *sending) run(ctx context.Context, c *cli.Client) error {
	switch {
	case s.wish.file != "":
		return s.sendBatch(ctx, c, s.wish.file, s.request.Account, s.request.Key)
	case s.dry:
		return s.dryRun(ctx, c, s.request)
	}
	s.request.Key = cli.NewKey(s.request.Key)
	id, err := s.Sends(ctx, c, s.wait, pathTransactions, s.request.Key, s.request)
	switch {
	case err != nil:
		return err
	case s.wait:
		return s.await(ctx, c, id, s.until)
	}
	return s.Accepted(id)
}

const (
	sendLong = `send gives a transaction to a node and prints its ID. A command with the same --key is the
same transaction, even if the first had no answer. Without --key, send makes a key and
prints it if no answer came. A script that may be killed should set --key.
With --wait it returns when the transaction is final: with 0 if it is done, with 1 if it
was rejected, cancelled, or had no effect. While no node answers, it keeps asking. An
interrupted wait also returns 1; the transaction goes on. With --until in_block or nonce
it returns earlier, with 0; the chain may take a block back.

With --function the arguments are encoded as the contract wants them: a number in decimal
digits, an address or bytes in hexadecimal ones after 0x, an array or a tuple as JSON.
--speed slow, normal and fast offer half, all and twice of the tip that the chain's node
suggests, and offer more after four times, once and a third of raise_after. --max-fee is
the most that is ever offered for a unit of gas. Once --valid-until or --last-block is over
it is not carried out any more: it ends as expired, at once if it has no nonce, and else
once a transaction that does nothing has its nonce for good.
--file sends up to 500 transactions of one account, all or none. Each is written as the
API's document has it, and has an idempotency_key, or gets --key and its place as one: the
same command again sends nothing twice. It prints their IDs.
With --dry-run nothing is sent: it prints what would become of the transaction now, and
returns 1 if it would be refused, if its call fails, or if that is not known.`
	sendExample = `  conch tx send --account payments --to 0x00000000000000000000000000000000000000aa --value 1000
  conch tx send --account payments --to 0x00000000000000000000000000000000000000aa --data 0xa9059cbb --key invoice-17 --wait
  conch tx send --account payments --to 0x00000000000000000000000000000000000000aa --data 0xa9059cbb --dry-run
  id=$(conch tx send --node https://conch.example:7070 --token-file token --account payments --to 0x00000000000000000000000000000000000000aa)
  conch tx send --account payments --to 0x00000000000000000000000000000000000000dd --function 'transfer(address,uint256)' 0x00000000000000000000000000000000000000aa 1000
  conch tx send --account payments --to 0x00000000000000000000000000000000000000dd --function 'pay((address to, uint256 amount)[] list)' '[{"to":"0x00000000000000000000000000000000000000aa","amount":"5"}]'
  conch tx send --account payments --to 0x00000000000000000000000000000000000000aa --value 1000 --speed fast --max-fee '80 gwei' --valid-until 10m --wait
  conch tx send --account payments --file payouts.json --key payouts-2026-01`
)

// waitFlags adds --wait and --until.
func waitFlags(cmd *cobra.Command, wait *bool, until *string) {
	cmd.Flags().BoolVar(wait, "wait", false, "return when the transaction is final; while no node answers, keep asking")
	cmd.Flags().StringVar(until, "until", untilFinal, "with --wait: return when it is `final`, in_block, or has a nonce")
}

func checkUntil(cmd *cobra.Command, wait bool, until string) error {
	switch {
	case until != untilFinal && until != untilInBlock && until != untilNonce:
		return cli.Usagef("--until %s is none of %s, %s and %s", until, untilFinal, untilInBlock, untilNonce)
	case cmd.Flags().Changed("until") && !wait:
		return cli.Usagef("--until says what --wait waits for: add --wait")
	}
	return nil
}

func (a *shell) txShow() *cobra.Command {
	var wait bool
	var until string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "what became of a transaction",
		Example: `  conch tx show 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11
  conch tx show 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11 --wait --json`,
		Args: oneID,
	}
	waitFlags(cmd, &wait, &until)
	return a.Asks(cmd, func() error { return checkUntil(cmd, wait, until) }, func(ctx context.Context, c *cli.Client, args []string) error {
		if wait {
			return a.await(ctx, c, args[0], until)
		}
		raw, t, err := transactionAt(ctx, c, http.MethodGet, url.PathEscape(args[0]))
		if err != nil {
			return err
		}
		return a.show(raw, t)
	})
}

func (a *shell) txList() *cobra.Command {
	var limit int
	wanted := map[string]*string{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the newest transactions",
		Example: `  conch tx list --account payments --limit 20
  conch tx list --state in_block --json | jq -r .id`,
		Args: cli.NoArguments,
	}
	flags := cmd.Flags()
	for _, f := range [][2]string{
		{"account", "only of this `name` or address"},
		{"state", "only in this `state`: future, ready, broadcast, in_block, retracted, finalized, …"},
		{"fate", "only of this `fate`: queued, open, done, cancelled, rejected or expired"},
		{"key", "only the one of --account with this idempotency `key`"},
		{"nonce", "only the one of --account with this `nonce`"},
		{"hash", "only the one for which this `hash` was ever signed"},
		{"to", "only with this receiver's `address`"},
		{"since", "only what was accepted at this `time` or later, such as 2026-01-31T12:00:00Z"},
		{"before", "only what was accepted before this `time`"},
	} {
		wanted[f[0]] = flags.String(f[0], "", f[1])
	}
	flags.IntVar(&limit, "limit", 50, "how `many` at most")
	return a.Asks(cmd, func() error {
		if limit < 1 {
			return cli.Usagef("--limit %d is less than 1", limit)
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, _ []string) error {
		query := url.Values{}
		for name, value := range wanted {
			if name == "before" {
				name = "until"
			}
			if *value != "" {
				query.Set(name, *value)
			}
		}
		all, err := pages(ctx, c, query, limit)
		if err != nil {
			return err
		}
		return a.list(all)
	})
}

// mostListed is the most transactions that a node lists at a time.
const mostListed = 1000

// pages asks a node for lists until it has as many transactions as wanted, or all.
func pages(ctx context.Context, c *cli.Client, query url.Values, limit int) (all []json.RawMessage, err error) {
	for {
		query.Set("limit", strconv.Itoa(min(limit-len(all), mostListed)))
		var answer struct {
			Transactions []json.RawMessage
			Next         string
		}
		if err := c.Ask(ctx, http.MethodGet, pathTransactions+"?"+query.Encode(), nil, &answer); err != nil {
			return nil, err
		}
		if answer.Transactions == nil {
			return nil, c.Stranger()
		}
		all = append(all, answer.Transactions...)
		if len(all) >= limit || len(answer.Transactions) == 0 || answer.Next == "" || answer.Next == query.Get("cursor") {
			return all, nil
		}
		query.Set("cursor", answer.Next)
	}
}

func (a *shell) txCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "cancel a transaction, if it is not too late",
		Long: `cancel takes back a transaction that has no nonce yet. Otherwise the leader sends one that
does nothing, with the same nonce and a higher fee, and one of the two gets into the chain.
The transaction is cancelled once "conch tx show" says so.`,
		Example: `  conch tx cancel 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11
  conch tx show 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11 --wait`,
		Args: oneID,
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, t, err := transactionAt(ctx, c, http.MethodPost, url.PathEscape(args[0])+"/cancel")
		if err != nil {
			return err
		}
		return a.show(raw, t)
	})
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return cli.Usagef("%q takes one ID: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
}
