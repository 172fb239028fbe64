package contracts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (c *client) transaction(ctx context.Context, at string) (raw json.RawMessage, t Told, err error) {
	if err = c.Ask(ctx, http.MethodGet, at, nil, &raw); err != nil {
		return raw, t, err
	}
	if json.Unmarshal(raw, &t) != nil || t.ID == "" {
		return raw, t, c.Stranger()
	}
	return raw, t, nil
}

// await follows a transaction until its end, with a line for each step on stderr. While no node answers it keeps asking,
// since the transaction is on its way all the same.
func (a *shell) await(ctx context.Context, c *client, at string) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	told, away := 0, false
	for {
		raw, t, err := c.transaction(ctx, at)
		switch {
		case err == nil:
			if len(t.Story) < told {
				told = 0 // the node has started again
			}
			for _, m := range t.Story[told:] {
				_, _ = fmt.Fprintln(a.Stderr, m.line())
			}
			told, away = len(t.Story), false
			if t.Fate != "open" {
				if err := a.story(raw, t); err != nil {
					return err
				}
				return t.verdict()
			}
		case !cli.Passing(err):
			return fmt.Errorf("%w; the transaction is %s", err, path.Base(at))
		case !away && ctx.Err() == nil:
			away = true
			_, _ = fmt.Fprintf(a.Stderr, "its state is unknown now and is asked again: %s\n", cli.Sentence(err.Error()))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted; the transaction %s goes on, and \"conch contract show\" says what becomes of it", path.Base(at))
		case <-look.C:
		}
	}
}

// verdict returns an error unless the transaction is confirmed.
func (t Told) verdict() error {
	if t.Fate == "confirmed" {
		return nil
	}
	return fmt.Errorf("the transaction was %s: %s", t.Fate, cli.OrDash(t.Why))
}

// line describes a step.
func (m Moment) line() string {
	text := fmt.Sprintf("%s  %-10s  %s", m.At.Local().Format("15:04:05.000"), m.State, m.Event)
	if m.Node != "" {
		text += ", with " + m.Node
	}
	if len(m.Endorsers) > 0 {
		text += ", endorsed by " + strings.Join(m.Endorsers, ", ")
	}
	if m.Block > 0 {
		text += fmt.Sprintf(", block %d", m.Block)
	}
	if m.Why != "" {
		text += ": " + m.Why
	}
	return text
}

func (a *shell) story(raw json.RawMessage, t Told) error {
	if a.JSON {
		return a.Document(raw)
	}
	rows := [][2]string{
		{"id", t.ID}, {"contract", t.Contract}, {"key", t.Key}, {"request", string(t.Request)}, {"fate", t.Fate}, {"why", t.Why}, {"accepted", cli.Clock(t.AcceptedAt)},
	}
	if t.Attempt != nil {
		rows = append(rows, [2]string{"attempt", *t.Attempt})
	}
	if t.Block != nil {
		rows = append(rows, [2]string{"block", fmt.Sprint(*t.Block)})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if err := a.Line("%-8s %s", row[0], row[1]); err != nil {
			return err
		}
	}
	for _, m := range t.Story {
		if err := a.Line("  %s", m.line()); err != nil {
			return err
		}
	}
	return nil
}

// one prints a contract.
func (a *shell) one(c *client, raw json.RawMessage) error {
	var k Contract
	if json.Unmarshal(raw, &k) != nil || k.Address == "" {
		return c.Stranger()
	}
	if a.JSON {
		return a.Document(raw)
	}
	for _, row := range [][2]string{
		{"address", k.Address},
		{"chain", fmt.Sprintf("%s, head %d, final %d", k.Chain, k.Head, k.Final)},
		{"domain", k.Domain},
		{"endorsed", fmt.Sprintf("by %d of %d members", k.Endorsements, len(k.Members))},
		{"warning", k.Warning},
		{"range", fmt.Sprintf("%d, of %d blocks", k.Range, k.RangeSize)},
		{"coordinator", k.Coordinator + ", then " + k.Next},
		{"open", counted(k.Open)},
		{"coordinating", counted(k.Coordinating)},
		{"waits", k.Waits},
	} {
		if row[1] == "" {
			continue
		}
		if err := a.Line("%-12s %s", row[0], row[1]); err != nil {
			return err
		}
	}
	rows := make([]string, 0, len(k.Members))
	for _, m := range k.Members {
		name, final, heard := m.Name, "-", "-"
		if m.This {
			name += " (this node)"
		}
		if m.Differs {
			name += " (DIFFERS: it has another declaration)"
		}
		if m.Final != nil {
			final = fmt.Sprint(*m.Final)
		}
		if m.HeardAt != nil {
			heard = cli.Clock(*m.HeardAt)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", name, m.Account, final, heard))
	}
	return a.Table("MEMBER\tACCOUNT\tFINAL\tHEARD", rows)
}

func counted(all map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[name], name))
	}
	return strings.Join(parts, ", ")
}

// table prints contracts, or with --json one object a line.
func (a *shell) table(all []json.RawMessage) error {
	var rows []string
	for _, raw := range all {
		if a.JSON {
			if err := a.Document(raw); err != nil {
				return err
			}
			continue
		}
		var k Contract
		if err := json.Unmarshal(raw, &k); err != nil {
			return err
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", k.Address, k.Chain, k.Domain, len(k.Members), k.Coordinator, cli.OrDash(counted(k.Open))))
	}
	if a.JSON {
		return nil
	}
	return a.Table("ADDRESS\tCHAIN\tDOMAIN\tMEMBERS\tCOORDINATOR\tOPEN", rows)
}
