package transactions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending/pgstore"
)

func (a *shell) policy() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "policy",
		Short: "what the callers of a token may have sent, and what is left of it",
		Long: `policy reads and writes the policies of the database. A token of token_file may spend only
what its policy for a chain allows, unless the account says unlimited = true. All nodes
heed a policy from the moment it is set, and count against the same limits. To write one
takes the role that owns the schema: no node can raise a limit.`,
		Example: `  conch --db "$OWNER_URL" policy set payout.json
  conch policy list`,
	}, a.policySet(), a.policyList(), a.policyShow(), a.policyDelete())
}

// policyPatience is how long a command waits for the database, and so for a lock.
const policyPatience = 10 * time.Second

// withPolicies runs work with the database.
func (a *shell) withPolicies(ctx context.Context, work func(context.Context, *pgstore.Database) error) error {
	cfg, err := a.Configure()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, policyPatience)
	defer cancel()
	at := cfg.Connection(" policy")
	db, err := pgstore.Open(ctx, at, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if err = db.Check(ctx); err == nil {
		err = pg.ForOwners(work(ctx, db))
	}
	return pg.Locked(ctx, at, err)
}

func (a *shell) policySet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set FILE",
		Short: "write a policy, in the place of the one before",
		Long: `set reads a policy from a JSON file, or from standard input if FILE is -, and finds every
fault in it. What it does not allow is refused; an amount that it does not limit is not
limited, and set names those. What was accepted and spent before stays. Its token sees the
transactions that it had accepted itself, and those of others with "read_others": true.

  {"token": "payout", "chain": "evm:1", "accounts": ["0x6d2d50b5d17b86bf964d636751ed84b7b9fc8971"],
   "receivers": [{"to": "any"}, {"to": "0x00…bb", "functions": ["deposit()", "0xac9650d8"]}],
   "erc20": [{"contract": "0x00…dd", "to": ["any"], "amount": "500000000", "amount_a_day": "2000000000"}],
   "value": "1000000000000000000", "value_a_day": "5000000000000000000",
   "fee_a_day": "100000000000000000", "count_a_minute": "60", "creation": false, "cancel": false, "read_others": false}`,
		Example: `  conch --db "$OWNER_URL" policy set payout.json
  conch policy show payout | jq '.value_a_day = "9000000000000000000"' | conch --db "$OWNER_URL" policy set -`,
		Args: oneWord("file"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			r, err := a.readRules(args[0])
			if err != nil {
				return err
			}
			stored, err := r.stored()
			if err == nil {
				err = a.withPolicies(ctx, func(ctx context.Context, db *pgstore.Database) error { return db.SetPolicy(ctx, stored) })
			}
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.Document(r.Policy)
			}
			return a.Line("%s on %s: the policy counts from now on, on all nodes; not limited: %s", cli.Named(r.Token), r.Chain, cli.OrDash(strings.Join(r.unlimited(), ", ")))
		})(cmd, nil)
	}
	return cmd
}

// readRules reads a policy from a file, or from standard input.
func (a *shell) readRules(file string) (*rules, error) {
	from := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	p, err := readPolicy(io.LimitReader(from, maxCall))
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	r, err := p.rules()
	if err != nil {
		return nil, fmt.Errorf("the policy of %s is not written, since\n%w", file, err)
	}
	return r, nil
}

// unlimited names the amounts that a policy does not limit, of what it allows.
func (r *rules) unlimited() (names []string) {
	for _, one := range []struct {
		name  string
		limit *Amount
	}{{"value", r.Value}, {"value_a_day", r.ValueADay}, {"fee_a_day", r.FeeADay}, {"count_a_minute", r.CountAMinute}} {
		if one.limit == nil {
			names = append(names, one.name)
		}
	}
	for _, one := range r.ERC20 {
		if one.AmountADay == nil {
			names = append(names, "erc20 "+one.Contract)
		}
	}
	return names
}

// policySpent is a policy and what is left of its limits, as conch policy list and the API show it.
type policySpent struct {
	Token  string        `json:"token"`
	Chain  string        `json:"chain"`
	May    []string      `json:"may"` // creation, cancel, read_others
	AsOf   string        `json:"as_of"`
	Limits []limitAnswer `json:"limits"`
}

func (a *shell) policyList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "all policies, and what is spent of their limits today",
		Long: `list shows of each limit what was taken from it in this day, or this minute, of UTC, by the
database's clock. What ended without effect is given back once that is final.`,
		Example: `  conch policy list
  conch policy list --json | jq -c 'select(.token == "payout") | .limits[]'`,
		Args: cli.NoArguments,
	}
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		return a.withPolicies(ctx, func(ctx context.Context, db *pgstore.Database) error {
			all, err := db.Policies(ctx)
			if err != nil {
				return err
			}
			var rows []string
			for _, p := range all {
				shown := spentOf(p)
				if a.JSON {
					if err := a.Document(shown); err != nil {
						return err
					}
					continue
				}
				for _, l := range append(shown.Limits, limitAnswer{Name: "-", Most: "-", Spent: "-", Left: "-"})[:max(1, len(shown.Limits))] {
					rows = append(rows, cli.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", cli.Named(p.Token), p.Chain, cli.OrDash(strings.Join(shown.May, ", ")), l.Name, l.Most, l.Spent, l.Left))
				}
			}
			if a.JSON {
				return nil
			}
			return a.Table("TOKEN\tCHAIN\tMAY\tLIMIT\tMOST\tSPENT\tLEFT", rows)
		})
	})
	return cmd
}

// may names what a policy allows beside spending.
func (r *rules) may() []string {
	words := []string{}
	for _, one := range []struct {
		word string
		is   bool
	}{{"creation", r.Creation}, {"cancel", r.Cancel}, {"read_others", r.ReadOthers}} {
		if one.is {
			words = append(words, one.word)
		}
	}
	return words
}

func spentOf(p pgstore.Policy) policySpent {
	out := policySpent{Token: p.Token, Chain: p.Chain, May: []string{}, AsOf: p.At.UTC().Format("2006-01-02T15:04:05Z"), Limits: []limitAnswer{}}
	if r, err := fromStore(p); err == nil { // else a newer conch has written it
		out.May = r.may()
	}
	for i, l := range p.Limits {
		left := new(big.Int).Sub(l.Amount, p.Spent[i].Amount)
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		out.Limits = append(out.Limits, limitAnswer{Name: limitName(l.What), Most: l.Amount.String(), Spent: p.Spent[i].Amount.String(), Left: left.String()})
	}
	return out
}

// chainFlag names one of a token's policies.
func chainFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "chain", "", "the `id` of the chain that the policy is for, such as evm:1; default: the only one")
}

// find returns the policy of a token for a chain, or for the only one that it has a policy for.
func find(ctx context.Context, db *pgstore.Database, token, chain string) (pgstore.Policy, error) {
	all, err := db.Policies(ctx)
	if err != nil {
		return pgstore.Policy{}, err
	}
	var found []pgstore.Policy
	for _, p := range all {
		if p.Token == token && (chain == "" || p.Chain == chain) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return pgstore.Policy{}, fmt.Errorf("there is no such policy: %q lists all", "conch policy list")
	case 1:
		return found[0], nil
	}
	return pgstore.Policy{}, cli.Usagef("the token has policies for %d chains: name one with --chain", len(found))
}

func (a *shell) policyShow() *cobra.Command {
	var chain string
	cmd := &cobra.Command{
		Use:   "show TOKEN",
		Short: "print a policy as set reads it",
		Example: `  conch policy show payout > payout.json
  conch policy show payout --chain evm:10`,
		Args: oneWord("token"),
	}
	chainFlag(cmd, &chain)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			return a.withPolicies(ctx, func(ctx context.Context, db *pgstore.Database) error {
				p, err := find(ctx, db, args[0], chain)
				if err != nil {
					return err
				}
				return a.Document(p.Rules)
			})
		})(cmd, nil)
	}
	return cmd
}

func (a *shell) policyDelete() *cobra.Command {
	var chain string
	cmd := &cobra.Command{
		Use:   "delete TOKEN",
		Short: "take a policy away: the token may then spend from accounts that are unlimited, and from no others",
		Example: `  conch --db "$OWNER_URL" policy delete payout
  conch --db "$OWNER_URL" policy delete payout --chain evm:10 --json`,
		Args: oneWord("token"),
	}
	chainFlag(cmd, &chain)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			return a.withPolicies(ctx, func(ctx context.Context, db *pgstore.Database) error {
				p, err := find(ctx, db, args[0], chain)
				if err == nil {
					err = db.DeletePolicy(ctx, p.Token, p.Chain)
				}
				switch {
				case errors.Is(err, pgstore.ErrNoPolicy):
					return errors.New("somebody else has just deleted it")
				case err != nil:
					return err
				case a.JSON:
					return a.Document(map[string]any{"token": p.Token, "chain": p.Chain, "deleted": true})
				}
				return a.Line("%s on %s: the policy is deleted; accounts that are unlimited are open to the token now, and no others", cli.Named(p.Token), p.Chain)
			})
		})(cmd, nil)
	}
	return cmd
}

// oneWord accepts one argument, and calls it by that word.
func oneWord(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return cli.Usagef("%q takes one %s: see %q", cmd.CommandPath(), what, cmd.CommandPath()+" --help")
	}
}
