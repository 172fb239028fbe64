package transactions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending"
)

func transactionAt(ctx context.Context, c *cli.Client, method, path string) (json.RawMessage, Detailed, error) {
	return cli.Fetch(ctx, c, method, pathTransactions+"/"+path, func(t Detailed) bool { return t.ID != "" })
}

// await follows a transaction until it is as a word of until says, or has ended.
func (a *shell) await(ctx context.Context, c *cli.Client, id, until string) error {
	return a.Follow(ctx, cli.Followed{
		ID: id, Interrupted: fmt.Sprintf("; \"conch tx show %s\" says what becomes of the transaction", id),
		Look: func(ctx context.Context) (steps []string, end func() error, err error) {
			raw, t, err := transactionAt(ctx, c, http.MethodGet, url.PathEscape(id))
			switch {
			case err != nil:
			case t.over():
				end = func() error { return errors.Join(a.show(raw, t), t.verdict()) }
			case patience{until: until}.met(false, t.Block != nil, t.Nonce != nil, 0):
				end = func() error { return a.show(raw, t) }
			}
			return []string{t.line()}, end, err
		},
	})
}

func (t Transaction) over() bool {
	return t.Fate == "done" || t.Fate == "cancelled" || t.Fate == "rejected" || t.Fate == "expired"
}

// verdict returns an error unless the transaction is done and had its effect.
func (t Transaction) verdict() error {
	switch {
	case t.Fate == "rejected":
		return fmt.Errorf("the transaction was rejected: %s", cli.OrDash(t.Why))
	case t.Fate != "done":
		return fmt.Errorf("the transaction was %s", t.Fate)
	case t.Failed:
		return fmt.Errorf("the transaction is in the chain and had no effect: its call failed: %s", cmp.Or(t.reverted(), "the node does not say why"))
	case t.Outcome != nil && *t.Outcome != pending.Succeeded:
		return fmt.Errorf("the transaction is in the chain, and its effect is %s", text(t.Effect))
	}
	return nil
}

// reverted says why the call has failed, empty if it has not.
func (t Transaction) reverted() string {
	switch {
	case t.Revert == nil:
		return ""
	case t.Revert.Reason == "":
		return "the reason is not known (" + t.Revert.Unknown + ")"
	}
	return fmt.Sprintf("%s (as replayed on the state after block %d)", t.Revert.Reason, t.Revert.ReplayedAt)
}

// line describes the state of a transaction.
func (t Transaction) line() string {
	text := t.Fate
	if t.Fate == pending.Done.String() && t.Outcome != nil && *t.Outcome != pending.Succeeded {
		text += " " + *t.Outcome
	}
	if t.State != nil {
		text += " " + *t.State
	}
	if t.Nonce != nil {
		text += fmt.Sprintf(" nonce %d", *t.Nonce)
	}
	if t.Block != nil {
		text += fmt.Sprintf(" block %d", t.Block.Number)
	}
	return text
}

// waits says what the transaction waits for, and since when if that is known.
func (t Transaction) waits() string {
	switch w := t.WaitingFor; {
	case w == nil:
		return ""
	case w.Until != nil:
		return fmt.Sprintf("%s (since %s, refused %d times, tried again at %s; others pass it)", w.Reason, cli.Clock(*w.Since), w.Refusals, cli.Clock(*w.Until))
	case w.Since != nil:
		return fmt.Sprintf("%s (since %s)", w.Reason, cli.Clock(*w.Since))
	default:
		return w.Reason
	}
}

// finalBy names the endpoints that called the transaction final.
func (t Transaction) finalBy() string {
	if len(t.Witnesses) == 2 && t.Witnesses[0] == t.Witnesses[1] {
		return t.Witnesses[0] + ", asked twice"
	}
	return strings.Join(t.Witnesses, " and ")
}

func (a *shell) show(raw json.RawMessage, t Detailed) error {
	if a.JSON {
		return a.Document(raw)
	}
	err := a.Fields([][2]string{
		{"id", t.ID},
		{"account", t.Account},
		{"to", cli.OrDash(t.To)},
		{"value", t.Value},
		{"fate", t.Fate},
		{"outcome", cli.OrDash(text(t.Outcome))},
		{"why", cmp.Or(t.Why, t.reverted())},
		{"waits", t.waits()},
		{"state", cli.OrDash(text(t.State))},
		{"nonce", cli.OrDash(number(t.Nonce))},
		{"hash", cli.OrDash(text(t.Hash))},
		{"final by", t.finalBy()},
		{"receipt", t.receipt()},
		{"contract", t.contract()},
		{"speed", t.Speed},
		{"max fee", t.MaxFee},
		{"until", t.until()},
		{"created", cli.Clock(t.CreatedAt)},
		{"version", fmt.Sprint(t.Version)},
	})
	if err != nil || len(t.Attempts) == 0 {
		return err
	}
	return a.attempts(t.Attempts)
}

// receipt says what the transaction has paid and told, or why that is not known.
func (t Detailed) receipt() string {
	r := t.Receipt
	if r == nil {
		return t.ReceiptUnknown
	}
	logs := fmt.Sprintf("logs: %d", r.LogCount)
	if r.LogsCut {
		logs += fmt.Sprintf(", of which --json has %d", len(r.Logs))
	}
	return fmt.Sprintf("%s, fee %s (%d gas at %s), %s", r.Status, r.Fee, r.GasUsed, r.GasPrice, logs)
}

// contract returns the address of the contract that the transaction has created.
func (t Detailed) contract() string {
	if t.Receipt == nil {
		return ""
	}
	return text(t.Receipt.Contract)
}

// attempts prints what was signed for the nonce.
func (a *shell) attempts(all []Attempt) error {
	rows := make([]string, len(all))
	for i, one := range all {
		does, where := "call", cli.OrDash(one.Error)
		if one.Filler {
			does = "filler"
		}
		if one.InBlock {
			where = "in a block"
		}
		rows[i] = cli.Row("%s\t%s\t%s\t%s\t%s\t%s", one.Hash, does, cli.OrDash(text(one.MaxFee)), cli.OrDash(text(one.MaxTip)), cli.Clock(one.SignedAt), where)
	}
	return a.Table("ATTEMPT\tDOES\tMAX FEE\tMAX TIP\tSIGNED\tERROR", rows)
}

// list prints transactions.
func (a *shell) list(all []json.RawMessage) error {
	return cli.Entries(a.Shell, all, "ID\tACCOUNT\tNONCE\tFATE\tOUTCOME\tSTATE\tCREATED", func(t Transaction) string {
		return cli.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", t.ID, t.Account, cli.OrDash(number(t.Nonce)), t.Fate, cli.OrDash(text(t.Outcome)), cli.OrDash(text(t.State)), cli.Clock(t.CreatedAt))
	})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *uint64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
