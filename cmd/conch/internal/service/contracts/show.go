package contracts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func toldAt(ctx context.Context, c *cli.Client, path string) (json.RawMessage, Told, error) {
	return cli.Fetch(ctx, c, http.MethodGet, path, func(t Told) bool { return t.ID != "" })
}

// await follows a transaction until its end.
func (a *shell) await(ctx context.Context, c *cli.Client, id, path string) error {
	return a.Follow(ctx, cli.Followed{
		ID: id, Interrupted: "; the transaction goes on, and \"conch contract show\" says what becomes of it",
		Look: func(ctx context.Context) (steps []string, end func() error, err error) {
			raw, t, err := toldAt(ctx, c, path)
			if err == nil && t.Fate != fateOpen {
				end = func() error { return errors.Join(a.fields(raw, t), t.verdict()) }
			}
			for _, m := range t.Story {
				steps = append(steps, m.line())
			}
			return steps, end, err
		},
	})
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
	if m.Times > 0 {
		text += fmt.Sprintf(" (%d times)", m.Times)
	}
	return text
}

// fields prints a transaction without its story.
func (a *shell) fields(raw json.RawMessage, t Told) error {
	if a.JSON {
		return a.Document(raw)
	}
	attempt, block := "", ""
	if t.Attempt != nil {
		attempt = *t.Attempt
	}
	if t.Block != nil {
		block = fmt.Sprint(*t.Block)
	}
	return a.Fields([][2]string{
		{"id", t.ID},
		{"contract", t.Contract},
		{"key", t.Key},
		{"request", string(t.Request)},
		{"fate", t.Fate},
		{"why", t.Why},
		{"accepted", cli.Clock(t.AcceptedAt)},
		{"attempt", attempt},
		{"block", block},
	})
}

// story prints a transaction and what happened to it.
func (a *shell) story(raw json.RawMessage, t Told) error {
	if err := a.fields(raw, t); err != nil || a.JSON {
		return err
	}
	for _, m := range t.Story {
		_ = a.Line("  %s", m.line())
	}
	return nil
}

// one prints a contract.
func (a *shell) one(raw json.RawMessage, k Contract) error {
	if a.JSON {
		return a.Document(raw)
	}
	err := a.Fields([][2]string{
		{"address", k.Address},
		{"chain", k.heights()},
		{"domain", k.Domain},
		{"endorsed", fmt.Sprintf("by %d of %d members", k.Endorsements, len(k.Members))},
		{"warning", k.Warning},
		{"not read", k.Unread},
		{"range", k.ranges()},
		{"coordinator", k.coordinators()},
		{"open", counted(k.Open)},
		{"coordinating", counted(k.Coordinating)},
		{"landed", k.lands()},
		{"skipped", k.skips()},
		{"cannot sign", k.Unsigned},
		{"waits", k.Waits},
		{"drained", k.drain()},
	})
	if err != nil {
		return err
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
		if m.Wrong {
			name += " (SIGNS WRONGLY: it is left out)"
		}
		if m.Idle {
			name += " (LANDS NOTHING: it is left out)"
		}
		if m.Final != nil {
			final = fmt.Sprint(*m.Final)
		}
		if m.HeardAt != nil {
			heard = cli.Clock(*m.HeardAt)
		}
		rows = append(rows, cli.Row("%s\t%s\t%s\t%s", name, m.Account, final, heard))
	}
	return a.Table("MEMBER\tACCOUNT\tFINAL\tHEARD", rows)
}

func (k Contract) heights() string {
	text := k.Chain
	if k.Head != nil {
		text += fmt.Sprintf(", head %d", *k.Head)
	}
	if k.Final != nil {
		text += fmt.Sprintf(", final %d", *k.Final)
	}
	return text
}

func (k Contract) drain() string {
	if k.Drained {
		return "this node coordinates it no more, until it is undrained or started again"
	}
	return ""
}

func (k Contract) ranges() string {
	text := fmt.Sprintf("of %d blocks", k.RangeSize)
	if k.Range != nil {
		text = fmt.Sprintf("%d, ", *k.Range) + text
	}
	if k.Takes != nil {
		text += fmt.Sprintf("; a transaction takes %d", *k.Takes)
	}
	return text
}

func (k Contract) coordinators() string {
	if k.Coordinator == nil || k.Next == nil {
		return ""
	}
	return *k.Coordinator + ", then " + *k.Next
}

// skipped is how many entries of this node the ledger has not taken.
func (k Contract) skipped() (n uint64) {
	for _, one := range k.Skipped {
		n += one
	}
	return n
}

func (k Contract) lands() string {
	if k.Landed+k.skipped() == 0 {
		return ""
	}
	return fmt.Sprint(k.Landed)
}

func (k Contract) skips() string {
	if k.skipped() == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %s", k.skipped(), counted(k.Skipped))
}

func counted[N int | uint64](all map[string]N) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[name], name))
	}
	return strings.Join(parts, ", ")
}

// transactions prints the transactions of a contract.
func (a *shell) transactions(all []json.RawMessage) error {
	return cli.Entries(a.Shell, all, "ID\tKEY\tFATE\tBLOCK\tACCEPTED\tREQUEST", func(t Transaction) string {
		block := "-"
		if t.Block != nil {
			block = fmt.Sprint(*t.Block)
		}
		return cli.Row("%s\t%s\t%s\t%s\t%s\t%s", t.ID, t.Key, t.Fate, block, cli.Clock(t.AcceptedAt), t.Request)
	})
}

// table prints contracts.
func (a *shell) table(all []json.RawMessage) error {
	return cli.Entries(a.Shell, all, "ADDRESS\tCHAIN\tDOMAIN\tMEMBERS\tCOORDINATOR\tLANDED\tSKIPPED\tOPEN", func(k Contract) string {
		coordinator := "not read yet"
		if k.Coordinator != nil {
			coordinator = *k.Coordinator
		}
		return cli.Row("%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s", k.Address, k.Chain, k.Domain, len(k.Members), coordinator, k.Landed, k.skipped(), cli.OrDash(counted(k.Open)))
	})
}
