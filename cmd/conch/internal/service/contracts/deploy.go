package contracts

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/chain"
	chainevm "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// deployment is what the flags of deploy say.
type deployment struct {
	Agreed

	members     []string // name=account
	committee   []string
	endorsement string
	payer       string
}

func (a *shell) deploy() *cobra.Command {
	d := deployment{Agreed: Agreed{RangeSize: defaultRange, Depth: defaultDepth, Life: defaultLife, Policy: ledger.Policies()[0]}}
	cmd := &cobra.Command{
		Use:   "deploy --account NAME --member NAME=ACCOUNT …",
		Short: "create a private contract on the chain",
		Long: `deploy has a node create the contract, waits until it is final, and prints the [[contracts]]
table that each member puts into its conch.toml. Nothing of the declaration can be changed
afterwards. One member deploys; the account pays the gas and has no other part in it.
Run it again after an interruption: with the same --key it is the same contract.`,
		Example: `  conch contract deploy --account ops --domain notes/1 --issuer bank \
      --member bank=0x6d2d… --member north=0x1f3a… --member east=0x88c0… --endorsement 2`,
		Args: cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&d.payer, "account", "", "`name` of the node's account that sends the transaction")
	flags.StringArrayVar(&d.members, "member", nil, "`name=account` of a member, in the contract's order; once for each")
	flags.StringSliceVar(&d.committee, "committee", nil, "`names` of the members that may coordinate; without it all may")
	flags.StringVar(&d.endorsement, "endorsement", allMembers, `how many members have to endorse: "all", or a number`)
	flags.IntVar(&d.RangeSize, "range-size", d.RangeSize, "`blocks` for which the committee keeps one order")
	flags.IntVar(&d.Depth, "depth", d.Depth, "`blocks` below the head at which a block is final")
	flags.IntVar(&d.Life, "life", d.Life, "`blocks` after the head until which a grant may last")
	flags.StringVar(&d.Policy, "policy", d.Policy, "in which order members coordinate: `rendezvous or ring`")
	flags.StringVar(&d.Domain, "domain", "notes/1", "the rules of the contract's states")
	flags.StringVar(&d.Issuer, "issuer", "", "of notes: the `member` that may issue some")
	key := flags.String("key", "", "your own name for the deployment: it happens once, however often you repeat the command")
	var creation []byte
	return a.Asks(cmd, func() (err error) {
		if d.payer == "" {
			return cli.Usagef("deploy needs --account: see %q", cmd.CommandPath()+" --help")
		}
		if err := d.read(); err != nil {
			return err
		}
		if creation, err = evm.Creation(declaration(d.Agreed, 0)); err != nil {
			return cli.Usagef("%w", err)
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, _ []string) error {
		if warning := declaration(d.Agreed, 0).Warning(); warning != "" {
			a.Say("warning: %s", warning)
		}
		return a.deploys(ctx, c, &d, creation, cli.NewKey(*key))
	})
}

// read checks the flags.
func (d *deployment) read() error {
	d.Address = "0x0000000000000000000000000000000000000000" // the chain says which; a declaration has one
	d.Accounts = map[string]string{}
	for _, m := range d.members {
		name, account, _ := strings.Cut(m, "=")
		if name == "" || account == "" {
			return cli.Usagef("--member %s is not a name, = and the address of an account", m)
		}
		if _, err := chainevm.ParseAddress(account); err != nil {
			return cli.Usagef("--member %s: %q %w", m, account, err)
		}
		d.Members, d.Accounts[name] = append(d.Members, name), account
	}
	for _, name := range append(slices.Clone(d.committee), d.Issuer) {
		if name != "" && !slices.Contains(d.Members, name) {
			return cli.Usagef("%q is not among the members", name)
		}
	}
	if d.Committee = d.committee; len(d.Committee) == 0 {
		d.Committee = d.Members
	}
	if d.Endorsements = len(d.Members); d.endorsement != allMembers {
		n, err := strconv.Atoi(d.endorsement)
		if err != nil {
			return cli.Usagef(`--endorsement is "all" or a number`)
		}
		d.Endorsements = n
	}
	if _, err := rulesOf(d.Agreed); err != nil {
		return cli.Usagef("%w", err)
	}
	if err := declaration(d.Agreed, 1).Validate(); err != nil {
		return cli.Usagef("%w", err)
	}
	return nil
}

// sentTransaction is the part of a transaction's document that deploy needs.
type sentTransaction struct {
	ID      string  `json:"id"`
	Address string  `json:"address"`
	Fate    string  `json:"fate"`
	Why     string  `json:"why"`
	Nonce   *uint64 `json:"nonce"`
	Outcome string  `json:"outcome"`
}

func (a *shell) deploys(ctx context.Context, c *cli.Client, d *deployment, creation []byte, key string) error {
	const path = "/v1/transactions"
	id, err := c.Send(ctx, path, key, map[string]any{"account": d.payer, "data": "0x" + hex.EncodeToString(creation), "idempotency_key": key})
	if err != nil {
		return err
	}
	a.Say("the transaction %s creates the contract; this returns when it is final (--key %s)", id, key)
	return a.Follow(ctx, cli.Followed{
		ID: id, Interrupted: ": repeat the command with --key " + key,
		Look: func(ctx context.Context) (steps []string, end func() error, err error) {
			_, tx, err := cli.Fetch(ctx, c, http.MethodGet, path+"/"+id, func(tx sentTransaction) bool { return tx.ID != "" })
			if err == nil && slices.Contains([]string{"done", "rejected", "cancelled"}, tx.Fate) {
				end = func() error { return a.created(d, tx) }
			}
			return nil, end, err
		},
	})
}

// created prints what has come of the transaction that creates a contract.
func (a *shell) created(d *deployment, tx sentTransaction) error {
	if tx.Fate != "done" {
		return fmt.Errorf("the contract was not created: its transaction was %s: %s", tx.Fate, cli.OrDash(tx.Why))
	}
	creator, err := chain.ParseHex(tx.Address)
	if tx.Outcome != "succeeded" || tx.Nonce == nil || err != nil {
		return fmt.Errorf("the contract was not created: the transaction %s is in the chain, and has %s", tx.ID, tx.Outcome)
	}
	d.Address = evm.AddressOf(ledger.Account(creator), *tx.Nonce)
	if a.JSON {
		return a.Document(map[string]string{"address": d.Address, "transaction": tx.ID})
	}
	return a.Text(d.table() + "\n")
}

// table is the declaration as a configuration has it.
func (d *deployment) table() string {
	quoted := func(names []string) string {
		all := make([]string, 0, len(names))
		for _, n := range names {
			all = append(all, strconv.Quote(n))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	accounts := make([]string, 0, len(d.Members))
	for _, name := range d.Members {
		accounts = append(accounts, fmt.Sprintf("%s = %q", name, d.Accounts[name]))
	}
	text := fmt.Sprintf("[[contracts]]\naddress     = %q\naccount     = %q # the name of this member's own [[accounts]]\nmembers     = %s\naccounts    = { %s }\n", d.Address, d.payer, quoted(d.Members), strings.Join(accounts, ", "))
	if !slices.Equal(d.Committee, d.Members) {
		text += "committee   = " + quoted(d.Committee) + "\n"
	}
	text += fmt.Sprintf("endorsement = %d\nrange_size  = %d\ndepth       = %d\nlife        = %d\npolicy      = %q\ndomain      = %q", d.Endorsements, d.RangeSize, d.Depth, d.Life, d.Policy, d.Domain)
	if d.Issuer != "" {
		text += fmt.Sprintf("\nissuer      = %q", d.Issuer)
	}
	return text
}
