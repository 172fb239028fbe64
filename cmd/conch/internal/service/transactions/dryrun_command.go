package transactions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// dryRun prints what would become of a request. It returns an error unless it would be accepted, and its call works.
func (a *shell) dryRun(ctx context.Context, c *cli.Client, request requestBody) error {
	var raw json.RawMessage
	if err := c.Ask(ctx, http.MethodPost, pathTransactions+"?dry_run=true", request, &raw); err != nil {
		return err
	}
	var d DryRun
	if json.Unmarshal(raw, &d) != nil || d.Account == "" {
		return c.Stranger()
	}
	var err error
	if a.JSON {
		err = a.Document(raw)
	} else {
		err = a.showDryRun(d)
	}
	switch {
	case err != nil:
		return err
	case !d.Accepted && d.Refusal != nil:
		return fmt.Errorf("it would be refused: %s", cmp.Or(d.Refusal.Detail, d.Refusal.Title))
	case !d.Accepted:
		return errors.New("it would be refused")
	case d.Works != nil && !*d.Works:
		return fmt.Errorf("its call fails: %s", cli.OrDash(d.Reason))
	case d.Works == nil:
		return fmt.Errorf("it is not known whether its call fails: %s", cli.OrDash(d.Unknown))
	}
	return nil
}

func (a *shell) showDryRun(d DryRun) error {
	works, block := "", ""
	if d.Works != nil {
		works = map[bool]string{true: "yes", false: "no"}[*d.Works]
	}
	if d.Block != nil {
		block = fmt.Sprintf("%d, by %s", d.Block.Number, cli.OrDash(d.By))
	}
	err := a.Fields([][2]string{
		{"account", d.Account},
		{"accepted", map[bool]string{true: "yes", false: "no"}[d.Accepted]},
		{"is", text(d.ID)},
		{"works", cli.OrDash(works)},
		{"why", d.Reason},
		{"waits", d.Waits},
		{"gas", cli.OrDash(number(d.Gas))},
		{"max fee", cli.OrDash(text(d.MaxFee))},
		{"max tip", cli.OrDash(text(d.MaxTip))},
		{"cost", cli.OrDash(text(d.Cost))},
		{"balance", cli.OrDash(text(d.Balance))},
		{"as of", cli.OrDash(block)},
		{"unknown", d.Unknown},
	})
	if err != nil || len(d.Limits) == 0 {
		return err
	}
	rows := make([]string, len(d.Limits))
	for i, l := range d.Limits {
		rows[i] = cli.Row("%s\t%s\t%s\t%s\t%s", l.Name, l.Most, l.Spent, l.Left, l.Needs)
	}
	return a.Table("LIMIT\tMOST\tSPENT\tLEFT\tNEEDS", rows)
}
