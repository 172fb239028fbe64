package transactions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (c *client) transaction(ctx context.Context, method, path string) (raw json.RawMessage, t shown, err error) {
	if err = c.Ask(ctx, method, "/v1/transactions/"+path, nil, &raw); err != nil {
		return raw, t, err
	}
	if json.Unmarshal(raw, &t) != nil || t.ID == "" {
		return raw, t, c.Stranger()
	}
	return raw, t, nil
}

// await follows a transaction until its end, with a line for each step on stderr. While no node
// answers it keeps asking, since the transaction is on its way all the same.
func (a *shell) await(ctx context.Context, c *client, id string) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	said, away := "", false
	for {
		raw, t, err := c.transaction(ctx, http.MethodGet, url.PathEscape(id))
		switch {
		case err == nil:
			if line := t.line(); away || line != said {
				said, away = line, false
				_, _ = fmt.Fprintln(a.Stderr, id+" "+line)
			}
			if t.over() {
				if err := a.show(raw, t); err != nil {
					return err
				}
				return t.verdict()
			}
		case !cli.Passing(err):
			return fmt.Errorf("%w; the transaction is %s", err, id)
		case !away && ctx.Err() == nil:
			away = true
			_, _ = fmt.Fprintf(a.Stderr, "%s: its state is unknown now and is asked again: %s\n", id, cli.Sentence(err.Error()))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted; \"conch tx show %s\" says what becomes of the transaction", id)
		case <-look.C:
		}
	}
}

func (t shown) over() bool {
	return t.Fate == "done" || t.Fate == "cancelled" || t.Fate == "rejected"
}

// verdict returns an error unless the transaction is done and had its effect.
func (t shown) verdict() error {
	switch {
	case t.Fate == "rejected":
		return fmt.Errorf("the transaction was rejected: %s", cli.OrDash(t.Why))
	case t.Fate != "done":
		return fmt.Errorf("the transaction was %s", t.Fate)
	case t.Failed:
		return errors.New("the transaction is in the chain and had no effect: its call failed")
	}
	return nil
}

// line describes the state of a transaction.
func (t shown) line() string {
	text := t.Fate
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
func (t shown) waits() string {
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
func (t shown) finalBy() string {
	if len(t.Witnesses) == 2 && t.Witnesses[0] == t.Witnesses[1] {
		return t.Witnesses[0] + ", asked twice"
	}
	return strings.Join(t.Witnesses, " and ")
}

func (a *shell) show(raw json.RawMessage, t shown) error {
	if a.JSON {
		return a.Document(raw)
	}
	for _, row := range [][2]string{
		{"id", t.ID},
		{"account", t.Account},
		{"to", cli.OrDash(t.To)},
		{"value", t.Value},
		{"fate", t.Fate},
		{"why", t.Why},
		{"waits", t.waits()},
		{"state", cli.OrDash(text(t.State))},
		{"nonce", cli.OrDash(number(t.Nonce))},
		{"hash", cli.OrDash(text(t.Hash))},
		{"final by", t.finalBy()},
		{"created", cli.Clock(t.CreatedAt)},
	} {
		if row[1] == "" {
			continue
		}
		if err := a.Line("%-8s %s", row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}

// list prints a table, or with --json one object a line.
func (a *shell) list(all []json.RawMessage) error {
	var rows []string
	for _, raw := range all {
		if a.JSON {
			if err := a.Document(raw); err != nil {
				return err
			}
			continue
		}
		var t shown
		if err := json.Unmarshal(raw, &t); err != nil {
			return err
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", t.ID, t.Account, cli.OrDash(number(t.Nonce)), t.Fate, cli.OrDash(text(t.State)), cli.Clock(t.CreatedAt)))
	}
	if a.JSON {
		return nil
	}
	return a.Table("ID\tACCOUNT\tNONCE\tFATE\tSTATE\tCREATED", rows)
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
