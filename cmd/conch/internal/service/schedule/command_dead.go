package schedule

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule/pgstore"
)

func (a *shell) dead() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "dead",
		Short: "see jobs that have failed as often as they may, retry or discard them",
		Long: `dead asks a node over its API. A job is dead once it has failed as often as it may; conch jobs
show has the error of each attempt. dead does not use a database itself, so --db has no
effect.`,
		Example: `  conch dead list --queue mail
  conch dead retry 17 18
  conch dead discard --queue mail`,
	}, a.deadList(), a.deadAct(pgstore.Retry, "have dead jobs tried again, each once"), a.deadAct(pgstore.Discard, "leave dead jobs as they are, and dead no more"))
}

func (a *shell) deadList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the newest dead jobs, and why they have failed last",
		Example: `  conch dead list --queue mail --limit 10
  conch dead list --json | jq -r .why | sort | uniq -c`,
		Args: cli.NoArguments,
	}
	query := listFlags(cmd)
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, _ []string) error {
		return entries(ctx, a, c, pathDead, "jobs", query(), jobHeader, jobRow)
	})
}

// deadAct makes the command that retries or discards dead jobs.
func (a *shell) deadAct(kind, short string) *cobra.Command {
	body := operationBody{Kind: kind}
	var resume string
	cmd := &cobra.Command{
		Use:   kind + " [ID…] [--queue NAME] [--all]",
		Short: short,
		Long: kind + ` takes the jobs that are dead now: some by their IDs, those of a queue, or all. It is an
operation with a record: each job is taken once, also if the command is interrupted and
carried on with --resume, and a job that dies again is not taken again.`,
		Example: "  conch dead " + kind + " 17 18\n  conch dead " + kind + " --queue mail\n  conch dead " + kind + " --resume 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11",
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				id, err := strconv.ParseInt(arg, 10, 64)
				if err != nil || id < 1 {
					return cli.Usagef("%q is the ID of no job", arg)
				}
				body.Jobs = append(body.Jobs, id)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&body.Queue, "queue", "", "all of this `queue`")
	cmd.Flags().BoolVar(&body.All, "all", false, "all of every queue")
	cmd.Flags().StringVar(&resume, "resume", "", "`ID` of an operation to be carried on")
	return a.Asks(cmd, func() error {
		chosen := 0
		for _, is := range []bool{len(body.Jobs) > 0, body.Queue != "", body.All, resume != ""} {
			if is {
				chosen++
			}
		}
		if chosen != 1 {
			return cli.Usagef("say which jobs: one of IDs, --queue, --all and --resume: see %q", cmd.CommandPath()+" --help")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, _ []string) error {
		if resume == "" {
			body.ID = fence.Term(newOperation()).String()
			return a.operate(ctx, c, body.ID, pathOperations, body, len(body.Jobs))
		}
		return a.operate(ctx, c, resume, pathOperations+"/"+resume+"/resume", nil, 0)
	})
}

// operate has an operation carried out until it has ended. So many jobs were named; 0: none was.
func (a *shell) operate(ctx context.Context, c *cli.Client, id, path string, body any, named int) error {
	for {
		var now Operation
		err := c.Ask(ctx, http.MethodPost, path, body, &now)
		if err == nil && now.ID != id {
			err = c.Stranger()
		}
		if cli.Passing(err) {
			return fmt.Errorf("%w; some jobs may have been taken: carry it on with --resume %s", err, id)
		}
		if err != nil {
			return err
		}
		if now.Ended != nil {
			if a.JSON {
				return a.Document(now)
			}
			did := map[string]string{pgstore.Retry: "retried", pgstore.Discard: "discarded"}[now.Kind]
			if named > int(now.Done) {
				return a.Line("%s %d of %s: no other one is dead (operation %s)", did, now.Done, doctor.Count(named, "job", "jobs"), now.ID)
			}
			return a.Line("%s %s (operation %s)", did, doctor.Count(int(now.Done), "job", "jobs"), now.ID)
		}
		a.Say("%d so far", now.Done)
		path, body = pathOperations+"/"+id+"/resume", nil
	}
}
