package transactions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (a *shell) webhooks() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "webhooks",
		Short: "see who is told of transactions, and tell it again",
		Long: `webhooks asks a node over its API. Receivers stand in [[webhooks]] of the nodes' files. One
node at a time tells them what happens to transactions, each event until it is confirmed,
for three days; then it is dead. webhooks does not use a database, so --db has no effect.`,
		Example: `  conch webhooks list
  conch webhooks list --dead shop
  conch webhooks replay shop --dead`,
	}, a.webhooksList(), a.webhooksReplay())
}

func (a *shell) webhooksList() *cobra.Command {
	var dead string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the receivers, how far they were told, and what is dead",
		Example: `  conch webhooks list
  conch webhooks list --dead shop --json | jq -r .why | sort | uniq -c`,
		Args: cli.NoArguments,
	}
	cmd.Flags().StringVar(&dead, "dead", "", "the newest dead events of the receiver with this `name`")
	cmd.Flags().IntVar(&limit, "limit", 50, "with --dead: how `many` at most")
	return a.Asks(cmd, func() error {
		if limit < 1 {
			return cli.Usagef("--limit %d is less than 1", limit)
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, _ []string) error {
		path, of := pathWebhooks, "webhooks"
		if dead != "" {
			of = "dead"
			path = strings.Replace(pathDead, "{webhook}", url.PathEscape(dead), 1) + "?limit=" + strconv.Itoa(min(limit, mostListed))
		}
		answer := map[string]json.RawMessage{}
		if err := c.Ask(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		var all []json.RawMessage
		if json.Unmarshal(answer[of], &all) != nil {
			return c.Stranger()
		}
		if dead != "" {
			return cli.Entries(a.Shell, all, "EVENT\tTYPE\tTRANSACTION\tDIED\tTRIES\tWHY", func(e DeadEvent) string {
				return cli.Row("%s\t%s\t%s\t%s\t%d\t%s", e.Event, e.Type, e.ID, e.DiedAt.Format(time.RFC3339), e.Tries, e.Why)
			})
		}
		return cli.Entries(a.Shell, all, "NAME\tBEHIND\tWAITING\tDEAD\tFAILS SINCE\tEVENTS\tWHY", webhookRow)
	})
}

func webhookRow(w WebhookState) string {
	since, events := "-", strings.Join(w.Events, ",")
	if w.FailingSince != nil {
		since = w.FailingSince.Format(time.RFC3339)
	}
	if !w.Here {
		events = "not in this node's file"
	}
	return cli.Row("%s\t%s\t%d\t%d\t%s\t%s\t%s", w.Name, time.Duration(w.BehindMS)*time.Millisecond, w.Waiting, w.Dead, since, events, w.Why)
}

func (a *shell) webhooksReplay() *cobra.Command {
	var body replayBody
	var since string
	cmd := &cobra.Command{
		Use:   "replay NAME (--dead | --event ID | --since TIME)",
		Short: "tell a receiver again of events",
		Long: `replay has a receiver told again: of its dead events, of one by its webhook-id, or of all
since a time, as long as the database has them (seven days, dead ones longer). They have the
same webhook-id as before, and come in turn for each transaction, but after newer ones that
were told already: a receiver keeps the larger version.`,
		Example: `  conch webhooks replay shop --dead
  conch webhooks replay shop --event evt_17_hb3k2a9x1c
  conch webhooks replay shop --since 2026-01-31T12:00:00Z`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "" {
				return nil
			}
			return cli.Usagef("%q takes the name of one receiver: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().BoolVar(&body.Dead, "dead", false, "its dead events")
	cmd.Flags().StringVar(&body.Event, "event", "", "the event with this webhook-`id`")
	cmd.Flags().StringVar(&since, "since", "", "all from this `time` on, such as 2026-01-31T12:00:00Z")
	return a.Asks(cmd, func() error {
		if since != "" {
			at, err := time.Parse(time.RFC3339, since)
			if err != nil {
				return cli.Usagef("--since %s is not a time such as 2026-01-31T12:00:00Z", since)
			}
			body.Since = &at
		}
		if _, err := body.parse(); err != nil {
			return cli.Usagef("say what is told again: one of --dead, --event with a webhook-id, and --since: see %q", cmd.CommandPath()+" --help")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		return a.replay(ctx, c, args[0], body)
	})
}

// replay asks until all is told again.
func (a *shell) replay(ctx context.Context, c *cli.Client, name string, body replayBody) error {
	path, total := strings.Replace(pathReplay, "{webhook}", url.PathEscape(name), 1), 0
	for {
		var answer struct {
			Replayed *int
			Next     int64
		}
		if err := c.Ask(ctx, http.MethodPost, path, body, &answer); err != nil {
			if total > 0 {
				return fmt.Errorf("%w; %d are told again", err, total)
			}
			return err
		}
		if answer.Replayed == nil {
			return c.Stranger()
		}
		total += *answer.Replayed
		if answer.Next <= body.After {
			break
		}
		body.After = answer.Next
	}
	if a.JSON {
		return a.Document(replayed{Replayed: total})
	}
	return a.Line("%d events are told again", total)
}
