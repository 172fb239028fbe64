package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Commands returns conch crons, conch jobs and conch dead.
func Commands(s *cli.Shell) []*cobra.Command {
	a := &shell{s}
	return []*cobra.Command{a.crons(), a.jobs(), a.dead()}
}

// shell prints for people.
type shell struct{ *cli.Shell }

func (a *shell) crons() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "crons",
		Short: "see what is scheduled, run it by hand, pause it",
		Long: `crons asks a node over its API. What is scheduled stands in [[crons]] of the nodes' files;
these commands show what came of it, whichever node leads. crons does not use a database
itself, so --db has no effect.`,
		Example: `  conch crons list
  conch crons next report --count 5
  conch crons run-now report --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z`,
	}, a.cronsList(), a.cronsShow(), a.cronsNext(), a.cronsRun(), a.cronsPause(true), a.cronsPause(false))
}

// one accepts one argument, and calls it by that word.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return cli.Usagef("%q takes one %s: see %q", cmd.CommandPath(), what, cmd.CommandPath()+" --help")
	}
}

// entries asks for a list, and prints what is in it.
func entries[T any](ctx context.Context, a *shell, c *cli.Client, path, member string, query url.Values, header string, row func(T) string) error {
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	answer := map[string]json.RawMessage{}
	if err := c.Ask(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &answer); err != nil {
		return err
	}
	var all []json.RawMessage
	if json.Unmarshal(answer[member], &all) != nil {
		return c.Stranger()
	}
	return cli.Entries(a.Shell, all, header, row)
}

func limitFlag(cmd *cobra.Command, to *int) {
	cmd.Flags().IntVar(to, "limit", 50, "how `many` at most")
}

func (a *shell) cronsList() *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the crons, when each comes next and how it went last",
		Example: `  conch crons list
  conch crons list --json | jq -r 'select(.paused) | .name'`,
		Args: cli.NoArguments,
	}
	cmd.Flags().StringVar(&after, "after", "", "only those after this `name`: the last one of the page before")
	limitFlag(cmd, &limit)
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, _ []string) error {
		query := url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}
		return entries(ctx, a, c, pathCrons, "crons", query, "NAME\tSCHEDULE\tZONE\tNEXT\tLAST\tOUTCOME", func(one Cron) string {
			last, outcome := "-", "-"
			if one.Last != nil {
				last, outcome = cli.Clock(one.Last.At), one.Last.Outcome
			}
			return cli.Row("%s\t%s\t%s\t%s\t%s\t%s", cli.Named(one.Name), one.Schedule, one.Timezone, one.upcoming(), last, outcome)
		})
	})
}

// upcoming says when a cron comes next, or why it does not.
func (c Cron) upcoming() string {
	switch {
	case c.Paused:
		return "paused"
	case c.Fault != "":
		return "unreadable"
	case len(c.Next) == 0:
		return "-"
	}
	return cli.Clock(c.Next[0])
}

// cronAt asks for one cron.
func cronAt(ctx context.Context, c *cli.Client, method, name, rest string) (json.RawMessage, Cron, error) {
	return cli.Fetch(ctx, c, method, pathCrons+"/"+url.PathEscape(name)+rest, func(one Cron) bool { return one.Name != "" })
}

func (a *shell) cronsShow() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "one cron: what it does, its newest times, and what was passed over",
		Example: "  conch crons show report --limit 10",
		Args:    one("name"),
	}
	limitFlag(cmd, &limit)
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, cron, err := cronAt(ctx, c, http.MethodGet, args[0], "?limit="+strconv.Itoa(limit))
		if err != nil {
			return err
		}
		return a.show(raw, cron)
	})
}

func (a *shell) show(raw json.RawMessage, c Cron) error {
	if a.JSON {
		return a.Document(raw)
	}
	settled := "-"
	if c.Settled != nil {
		settled = cli.Clock(*c.Settled)
	}
	next := []string{c.upcoming()}
	for _, at := range c.Next[min(len(c.Next), 1):] {
		next = append(next, cli.Clock(at))
	}
	_ = a.Fields([][2]string{
		{"name", c.Name}, {"schedule", c.Schedule + " in " + c.Timezone}, {"next", strings.Join(next, ", ")}, {"fault", c.Fault},
		{"calls", c.Handler.String()}, {"args", string(c.Args)}, {"queue", c.Queue},
		{"missed", c.CatchUp}, {"overlap", c.Overlap}, {"timeout", c.Timeout}, {"retries", strconv.Itoa(c.Retries)},
		{"since", cli.Clock(c.Since) + " by " + c.By}, {"settled", settled},
	})
	if len(c.Past) > 0 {
		_ = a.Line("")
		_ = a.Table("TIME\tOUTCOME\tJOB\tDECIDED\tBY", pastRows(c.Past))
	}
	if len(c.Gaps) > 0 {
		var rows []string
		for _, g := range c.Gaps {
			rows = append(rows, cli.Row("%s\t%s\t%d\t%s", cli.Clock(g.From), cli.Clock(g.To), g.Count, g.Why))
		}
		_ = a.Line("")
		return a.Table("PASSED OVER FROM\tTO\tTIMES\tWHY", rows)
	}
	return nil
}

// String says what is called.
func (h Handler) String() string {
	return cmp.Or(strings.Join(h.Command, " "), h.HTTP, h.Job)
}

func pastRows(all []Past) (rows []string) {
	for _, p := range all {
		by := "leader"
		if p.ByHand {
			by = "hand"
		}
		rows = append(rows, cli.Row("%s\t%s\t%d\t%s\t%s", cli.Clock(p.At), p.Outcome, p.Job, cli.Clock(p.Decided), by))
	}
	return rows
}

func (a *shell) cronsNext() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:     "next NAME",
		Short:   "when a cron is due next, in its own zone",
		Example: "  conch crons next report --count 10",
		Args:    one("name"),
	}
	cmd.Flags().IntVar(&count, "count", 3, "how `many` times")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		_, cron, err := cronAt(ctx, c, http.MethodGet, args[0], "?limit=1&next="+strconv.Itoa(count))
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Document(cron.Next)
		case len(cron.Next) == 0:
			return a.Line("%s", cmp.Or(cron.Fault, "never: the cron is paused"))
		}
		for _, at := range spelled(cron.Next, cron.Timezone) {
			_ = a.Line("%s", at)
		}
		return nil
	})
}

func (a *shell) cronsRun() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "run-now NAME [--from TIME --to TIME]",
		Short: "run a cron now, or the times of a span that were not run",
		Long: `run-now gives a cron a job at once. With --from and --to it gives one to each scheduled time
of that span that has no row yet, up to 1,000: so the same command again runs nothing
twice. A job waits for the cron's other jobs, unless they may overlap.`,
		Example: `  conch crons run-now report
  conch crons run-now report --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z`,
		Args: one("name"),
	}
	cmd.Flags().StringVar(&from, "from", "", "the span's first `time`, such as 2026-01-31T00:00:00Z")
	cmd.Flags().StringVar(&to, "to", "", "the span's last `time`")
	var span spanBody
	return a.Asks(cmd, func() (err error) {
		if (from == "") != (to == "") {
			return cli.Usagef("a span has --from and --to; without both the cron is run now")
		}
		if span.From, err = instant("--from", from); err == nil {
			span.To, err = instant("--to", to)
		}
		return err
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		var answer struct{ Runs []Past }
		if err := c.Ask(ctx, http.MethodPost, pathCrons+"/"+url.PathEscape(args[0])+"/run", span, &answer); err != nil {
			return err
		}
		if answer.Runs == nil {
			return c.Stranger()
		}
		if a.JSON {
			return a.Document(answer.Runs)
		}
		return a.Table("TIME\tOUTCOME\tJOB\tDECIDED\tBY", pastRows(answer.Runs))
	})
}

// instant reads a time that a flag has.
func instant(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // none is given
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, cli.Usagef("%s %q is not a time such as 2026-01-31T09:00:00Z", flag, text)
	}
	return &at, nil
}

func (a *shell) cronsPause(paused bool) *cobra.Command {
	word, short, long := "resume", "have a cron due again, from now on",
		"resume ends a pause from now on. The times of the pause are not run; run-now with a span runs them."
	if paused {
		word, short, long = "pause", "have nothing of a cron due, from now on",
			"pause lasts until resume, also while the nodes' files change. What the cron owed until now is still run."
	}
	cmd := &cobra.Command{
		Use: word + " NAME", Short: short, Long: long,
		Example: "  conch crons " + word + " report",
		Args:    one("name"),
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, cron, err := cronAt(ctx, c, http.MethodPost, args[0], "/"+word)
		if err != nil {
			return err
		}
		return a.show(raw, cron)
	})
}
