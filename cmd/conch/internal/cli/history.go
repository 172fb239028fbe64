package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgmint"
)

const historyHeader = "AT\tSCOPE\tEPOCH\tEVENT\tHOLDER\tREASON\tACTOR"

func (a *app) history() *cobra.Command {
	var limit int
	cmd := a.observing(&cobra.Command{
		Use:   "history",
		Short: "how leadership changed hands, oldest first",
		Example: `  conch history --limit 20
  conch history --scope payments --json | jq -r .event`,
	}, func(ctx context.Context, o *pgmint.Observer, scope string) error {
		events, err := o.History(ctx, scope, limit)
		if err != nil {
			return err
		}
		return a.printHistory(events)
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if limit < 1 {
			return usagef("--limit %d asks for nothing: give 1 or more", limit)
		}
		return nil
	}
	return cmd
}

func (a *app) printHistory(events []pgmint.Event) error {
	if a.json {
		for _, e := range events {
			e.At = e.At.UTC()
			if err := a.document(e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(events) == 0 {
		return a.line("leadership has never changed hands here")
	}
	var rows []string
	for _, e := range events {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s\t%s",
			clock(e.At), e.Scope, e.Epoch, e.Event, orDash(e.Holder), orDash(e.Reason), orDash(e.Actor)))
	}
	return a.table(historyHeader, rows)
}

func (a *app) watch() *cobra.Command {
	return a.observing(&cobra.Command{
		Use:   "watch",
		Short: "print changes of leadership as they happen, until Ctrl-C",
		Example: `  conch watch
  conch watch --scope payments --json`,
	}, func(ctx context.Context, o *pgmint.Observer, scope string) error {
		if err := o.Watch(ctx, scope, a.printEvent); ctx.Err() == nil {
			return err
		}
		return nil // ended as asked
	})
}

func (a *app) printEvent(e pgmint.Event) error {
	if a.json {
		e.At = e.At.UTC()
		return a.document(e)
	}
	text := fmt.Sprintf("%s  %s  epoch %d  %-11s  %s", clock(e.At), e.Scope, e.Epoch, e.Event, orDash(e.Holder))
	if e.Reason != "" {
		text += "  (" + e.Reason + ")"
	}
	if e.Actor != "" {
		text += "  by " + e.Actor
	}
	return a.line("%s", text)
}
