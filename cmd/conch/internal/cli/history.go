package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgops"
)

const historyHeader = "AT\tSCOPE\tEPOCH\tEVENT\tGAP\tHOLDER\tREASON\tACTOR"

func (a *app) history() *cobra.Command {
	var limit int
	cmd := a.observing(&cobra.Command{
		Use:   "history",
		Short: "how leadership changed hands, oldest first",
		Long: `history shows how leadership changed hands. GAP is how long nobody led before a
leadership began: since the last one was given up or, if it was lost, since its last
heartbeat.`,
		Example: `  conch history --limit 20
  conch history --scope payments --json | jq -r .event`,
	}, func(ctx context.Context, o *pgops.Observer, scope string) error {
		events, err := o.History(ctx, scope, limit)
		if err != nil {
			return err
		}
		return a.printHistory(scope, events)
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if limit < 1 {
			return Usagef("--limit %d asks for nothing: give 1 or more", limit)
		}
		return nil
	}
	return cmd
}

func (a *app) printHistory(scope string, events []pgops.Event) error {
	if a.JSON {
		for _, e := range events {
			e.At = e.At.UTC()
			if err := a.Document(e); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case len(events) == 0 && scope != "":
		return a.neverLed(scope)
	case len(events) == 0:
		return a.Line("leadership has never changed hands here")
	}
	var rows []string
	for _, e := range events {
		rows = append(rows, Row("%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s",
			Clock(e.At), Named(e.Scope), e.Epoch, e.Event, OrDash(gap(e)), Named(e.Holder), OrDash(e.Reason), OrDash(e.Actor)))
	}
	return a.Table(historyHeader, rows)
}

func (a *app) watch() *cobra.Command {
	return a.observing(&cobra.Command{
		Use:   "watch",
		Short: "print changes of leadership as they happen, until Ctrl-C",
		Example: `  conch watch
  conch watch --scope payments --json`,
	}, func(ctx context.Context, o *pgops.Observer, scope string) error {
		if err := o.Watch(ctx, scope, a.printEvent); ctx.Err() == nil {
			return err
		}
		return nil // ended as asked
	})
}

func (a *app) printEvent(e pgops.Event) error {
	if a.JSON {
		e.At = e.At.UTC()
		return a.Document(e)
	}
	text := fmt.Sprintf("%s  %s  epoch %d  %-11s  %s", Clock(e.At), Named(e.Scope), e.Epoch, e.Event, Named(e.Holder))
	if gap := gap(e); gap != "" {
		text += "  after " + gap + " without a leader"
	}
	if e.Reason != "" {
		text += "  (" + e.Reason + ")"
	}
	if e.Actor != "" {
		text += "  by " + e.Actor
	}
	return a.Line("%s", text)
}

// gap returns for how long nobody led before a leadership began: 77s, 1.24s, 3ms.
func gap(e pgops.Event) string {
	if e.GapMS == nil {
		return ""
	}
	d := max(0, time.Duration(*e.GapMS)*time.Millisecond)
	switch {
	case d < time.Second:
		return d.String()
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}
