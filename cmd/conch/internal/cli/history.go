package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgmint"
)

const historyHeader = "AT\tSCOPE\tEPOCH\tEVENT\tHOLDER\tREASON\tACTOR"

func (a *app) history() *cobra.Command {
	var scope string
	var limit int
	cmd := &cobra.Command{
		Use:   "history",
		Short: "how leadership changed hands, oldest first",
		Example: `  conch history --limit 20
  conch history --scope payments --json | jq -r .event`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only this `scope`; default all")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest")
	cmd.RunE = does(func(ctx context.Context) error {
		if err := scopeFlag(cmd.Flags().Changed("scope"), scope); err != nil {
			return err
		}
		if limit < 1 {
			return usagef("--limit %d asks for nothing: give 1 or more", limit)
		}
		observer, err := a.observe(ctx)
		if err != nil {
			return err
		}
		defer observer.Close()
		events, err := observer.History(ctx, scope, limit)
		if err != nil {
			return err
		}
		return a.printHistory(events)
	})
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
	var scope string
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "print changes of leadership as they happen, until Ctrl-C",
		Example: `  conch watch
  conch watch --scope payments --json`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only this `scope`; default all")
	cmd.RunE = does(func(ctx context.Context) error {
		if err := scopeFlag(cmd.Flags().Changed("scope"), scope); err != nil {
			return err
		}
		observer, err := a.observe(ctx)
		if err != nil {
			return err
		}
		defer observer.Close()
		err = observer.Watch(ctx, scope, a.printEvent)
		if ctx.Err() != nil {
			return nil // ended as asked
		}
		return err
	})
	return cmd
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
