package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/schedule/pgstore"
)

func (a *shell) jobs() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "jobs",
		Short: "see jobs and what became of them, add and cancel some",
		Long: `jobs asks a node over its API. Programs add jobs in their own transactions by the SQL
function conch.job_add; the command is for people. jobs does not use a database itself,
so --db has no effect.`,
		Example: `  conch jobs list --state ready
  conch jobs show 17
  conch jobs add --queue mail --handler welcome --args '{"to": "a@example.com"}'`,
	}, a.jobsList(), a.jobsShow(), a.jobsAdd(), a.jobsAct("cancel", "end a job",
		"cancel ends a job that no worker has. One that is at work is stopped by its worker within a second or so, and is not tried again."),
		a.jobsAct("retry", "have a job that is dead, or begins later, begin now",
			"retry has a job begin now that waits for its next attempt, or that has failed as often as it may. For many see conch dead retry."),
		a.jobsRelease())
}

func (a *shell) jobsRelease() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release",
		Short: "have workers take jobs again that are held after a restore of the database",
		Long: `release ends what [schedule] on_restore = "hold" begins: once the database was restored, workers
take no job, since what a backup has as still to be done may have been done. Look at conch
jobs list first, and cancel what is not to be done again.`,
		Example: "  conch jobs release",
		Args:    cli.NoArguments,
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, _ []string) error {
		raw, answer, err := cli.Fetch(ctx, c, http.MethodPost, pathRelease, func(r released) bool { return r.Released != nil })
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Document(raw)
		case !*answer.Released:
			return a.Line("nothing is held")
		}
		return a.Line("released: workers take jobs again")
	})
}

const jobHeader = "ID\tSTATE\tQUEUE\tCALLS\tCRON\tATTEMPT\tMOMENT\tWHY"

func jobRow(j Job) string {
	moment := "-"
	if j.Moment != nil {
		moment = cli.Clock(*j.Moment)
	}
	return cli.Row("%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s", j.ID, j.State, j.Queue, j.calls(), cli.Named(j.Cron), j.Attempt, moment, cli.OrDash(j.Why))
}

// calls says what a job calls.
func (j Job) calls() string {
	var h Handler
	_ = json.Unmarshal(j.Handler, &h) // what cannot be read is nothing
	return h.String()
}

// listFlags are those of a list of jobs.
func listFlags(cmd *cobra.Command) (query func() url.Values) {
	var queue string
	var before int64
	var limit int
	cmd.Flags().StringVar(&queue, "queue", "", "only of this `queue`")
	cmd.Flags().Int64Var(&before, "before", 0, "only those below this `id`: the last one of the page before")
	limitFlag(cmd, &limit)
	return func() url.Values {
		out := url.Values{"queue": {queue}, "limit": {strconv.Itoa(limit)}}
		if before > 0 {
			out.Set("before", strconv.FormatInt(before, 10))
		}
		return out
	}
}

func (a *shell) jobsList() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the newest jobs",
		Example: `  conch jobs list --state taken
  conch jobs list --queue mail --json | jq .id`,
		Args: cli.NoArguments,
	}
	cmd.Flags().StringVar(&state, "state", "", "only in this `state`: ready, later, waiting, taken or dead")
	query := listFlags(cmd)
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, _ []string) error {
		q := query()
		q.Set("state", state)
		return entries(ctx, a, c, pathJobs, "jobs", q, jobHeader, jobRow)
	})
}

// jobAt asks for one job.
func jobAt(ctx context.Context, c *cli.Client, method, id, rest string) (json.RawMessage, Job, error) {
	return cli.Fetch(ctx, c, method, pathJobs+"/"+url.PathEscape(id)+rest, func(j Job) bool { return j.ID != 0 })
}

func (a *shell) jobsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "one job: its arguments, and the error of each attempt",
		Example: "  conch jobs show 17",
		Args:    one("ID"),
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, j, err := jobAt(ctx, c, http.MethodGet, args[0], "")
		if err != nil {
			return err
		}
		return a.showJob(raw, j)
	})
}

func (a *shell) showJob(raw json.RawMessage, j Job) error {
	if a.JSON {
		return a.Document(raw)
	}
	at, moment, since := "", "-", " since "
	if j.State == pgstore.Later || j.State == pgstore.Waiting {
		since = ", from "
	}
	if j.At != nil {
		at = cli.Clock(*j.At)
	}
	if j.Moment != nil {
		moment = cli.Clock(*j.Moment)
	}
	_ = a.Fields([][2]string{
		{"id", strconv.FormatInt(j.ID, 10)}, {"state", j.State + since + moment}, {"queue", j.Queue}, {"calls", j.calls()}, {"args", string(j.Args)},
		{"cron", j.Cron}, {"scheduled", at}, {"attempt", fmt.Sprintf("%d, of %d", j.Attempt, j.Retries+1)}, {"timeout", j.Timeout},
		{"priority", strconv.Itoa(j.Priority)}, {"lane", j.Lane}, {"key", j.Key}, {"worker", j.Worker}, {"progress", j.Progress},
		{"created", cli.Clock(j.Created) + " by " + j.By}, {"why", j.Why},
	})
	var rows []string
	for _, t := range j.Attempts {
		rows = append(rows, cli.Row("%d\t%s\t%s\t%s\t%s\t%s", t.N, t.Outcome, cli.OrDash(t.Worker), cli.Clock(t.Began), t.Ended.Sub(t.Began).Round(time.Millisecond).String(), cli.OrDash(t.Error)))
	}
	if len(rows) == 0 {
		return nil
	}
	_ = a.Line("")
	return a.Table("ATTEMPT\tOUTCOME\tWORKER\tBEGAN\tTOOK\tERROR", rows)
}

func (a *shell) jobsAdd() *cobra.Command {
	var body jobBody
	var args, at string
	var in time.Duration
	var priority, retries int
	cmd := &cobra.Command{
		Use:   "add --queue NAME --handler NAME [--args JSON]",
		Short: "add a job",
		Long: `add adds a job and prints its ID. Of jobs with one --key only one is there that has not ended:
the command again prints the ID of that one. Of a --lane one job is at work at a time.`,
		Example: `  conch jobs add --queue mail --handler welcome --args '{"to": "a@example.com"}'
  conch jobs add --queue mail --handler remind --in 1h --key remind:17 --lane customer:17`,
		Args: cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&body.Queue, "queue", "", "`queue` from which a worker takes it")
	flags.StringVar(&body.Handler, "handler", "", "`name` of what the worker calls")
	flags.StringVar(&args, "args", "{}", "what it gets, as `JSON`")
	flags.StringVar(&at, "at", "", "`time` at which it begins, such as 2026-01-31T09:00:00Z")
	flags.DurationVar(&in, "in", 0, "how `long` from now it begins")
	flags.IntVar(&priority, "priority", 1, "from 0, the most urgent, to 3")
	flags.IntVar(&retries, "retries", 3, "how `often` it is tried again")
	flags.StringVar(&body.Lane, "lane", "", "`name`: of one lane one job is at work at a time")
	flags.StringVar(&body.Key, "key", "", "your own `name` for it: of one key one job has not ended")
	flags.StringVar(&body.Timeout, "timeout", "1h", "how `long` an attempt may take")
	return a.Asks(cmd, func() (err error) {
		switch {
		case body.Queue == "" || body.Handler == "":
			return cli.Usagef("add needs --queue and --handler: see %q", cmd.CommandPath()+" --help")
		case !json.Valid([]byte(args)):
			return cli.Usagef("--args is no JSON")
		case in < 0:
			return cli.Usagef("--in %s is in the past: leave it out to have the job begin now", in)
		case at != "" && in != 0:
			return cli.Usagef("--at and --in both say when it begins: give one of them")
		}
		body.Args, body.Priority, body.Retries = json.RawMessage(args), &priority, &retries
		if in > 0 {
			begins := time.Now().Add(in)
			body.RunAt = &begins
			return nil
		}
		body.RunAt, err = instant("--at", at)
		return err
	}, func(ctx context.Context, c *cli.Client, _ []string) error {
		var answer added
		if err := c.Ask(ctx, http.MethodPost, pathJobs, body, &answer); err != nil {
			return err
		}
		if answer.ID == 0 {
			return c.Stranger()
		}
		if a.JSON {
			return a.Document(answer)
		}
		return a.Line("%d", answer.ID)
	})
}

// jobsAct makes the command that has something done with a job.
func (a *shell) jobsAct(word, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: word + " ID", Short: short, Long: long, Example: "  conch jobs " + word + " 17", Args: one("ID")}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		raw, j, err := jobAt(ctx, c, http.MethodPost, args[0], "/"+word)
		if err != nil {
			return err
		}
		return a.showJob(raw, j)
	})
}
