package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
)

func (a *shell) goal() *cobra.Command {
	var id string
	var since uint64
	var later bool
	cmd := &cobra.Command{
		Use:   "goal NAMESPACE GOAL",
		Short: "submit a goal, and print what came of it once it is committed",
		Long: `goal submits a goal at any node of the log, and waits until it is committed. It draws an id, and asks the node
for its newest entry first. If nobody can say what became of the goal, the command that asks again is printed,
with both; it never does twice what was done once. Without the --since of the first time that is so for 10,000
entries: then the id is forgotten, and counts as new. A goal that fails has changed nothing: then the exit code is 1.
A log of machine prolog takes the text of a goal, prints what its variables are or true, and false if it has no solution.`,
		Example: `  conch log goal flags '{"op":"put","key":"dark","value":true}'
  conch log goal flags '{"op":"add","key":"visits"}' --goal-id 2026-11-26-visits --json
  conch log goal world 'move(X, 3)'
  conch log goal flags '{"ops":[{"op":"check","key":"owner","expect":"ann"},{"op":"put","key":"owner","value":"bob"}]}'`,
		Args: exactly(2, "the namespace of the log and a goal"),
	}
	flags := cmd.Flags()
	flags.StringVar(&id, "goal-id", "", "your own `name` for the goal: repeated within 10,000 entries, or with the --since of the first time, it is executed once")
	flags.Uint64Var(&since, "since", 0, "`index` of an entry that was there before the id was made (default: the node's newest)")
	flags.BoolVar(&later, "no-wait", false, "return when the node has the goal, before it is committed, and print how to ask again what came of it")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		goal, err := a.goalOf(ctx, c, cmd, args)
		if err != nil {
			return err
		}
		g := Asked{GoalID: cli.NewKey(id), Goal: goal, Since: said(cmd, since)}
		if g.Since == nil {
			newest, err := newestAt(ctx, c, args[0])
			if err != nil {
				return err
			}
			g.Since = &newest
		}
		return a.submit(ctx, c, args, g, later)
	})
}

// newestAt returns the newest entry of a node, or the newest of which it knows if its own may be too old for a new goal.
func newestAt(ctx context.Context, c *cli.Client, namespace string) (uint64, error) {
	_, s, err := statusFrom(ctx, c, namespace)
	switch {
	case err != nil:
		return 0, err
	case s.Position == nil:
		return 0, absence(s, "nothing was submitted: ")
	case s.Copy.Behind >= farBehind:
		return s.Copy.Known, nil
	}
	return s.Position.Index, nil
}

// farBehind is how many entries a node lacks whose newest one may be too old for a new goal.
const farBehind = txlog.DefaultRetention / 2

func (a *shell) submit(ctx context.Context, c *cli.Client, args []string, g Asked, later bool) error {
	path := about(args[0], "goals")
	if later {
		path += "?wait=0"
	}
	var raw json.RawMessage
	over := a.patient("the goal has no answer yet. It is executed once, however this command ends")
	defer over()
	err := c.Ask(ctx, http.MethodPost, path, g, &raw)
	if cli.Passing(err) {
		return fmt.Errorf("%w. To ask again, which executes it once: conch log goal %s %s --goal-id %s --since %d%s", err, args[0], cli.Quoted(args[1]), cli.Quoted(g.GoalID), *g.Since, c.Given())
	}
	if err != nil {
		return err
	}
	var o Outcome
	if json.Unmarshal(raw, &o) != nil || o.GoalID == "" {
		return c.Stranger()
	}
	if a.JSON {
		if err := a.Document(raw); err != nil {
			return err
		}
	}
	text, ofProlog := solution([]byte(o.Result))
	switch {
	case strings.HasPrefix(o.Fault, noSolution) && !a.JSON:
		if err := a.Line("false."); err != nil {
			return err
		}
		return cli.ExitError(cli.Failed)
	case o.Fault != "":
		return fmt.Errorf("the goal has failed, and nothing has changed: %s", o.Fault)
	case a.JSON:
		return nil
	case later:
		return a.Line("--goal-id %s --since %d", cli.Quoted(o.GoalID), *g.Since)
	}
	if !ofProlog {
		text = string(o.Result)
	}
	for line := range strings.Lines(text) {
		if err := a.Line("%s", strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (a *shell) tail() *cobra.Command {
	from, follow := uint64(0), false
	cmd := &cobra.Command{
		Use:   "tail NAMESPACE",
		Short: "the entries of a log",
		Long: `tail prints the newest entries that a node has, or those from an index on. With --follow it goes on with each entry
that comes, without a gap, also while the node is away for a while.`,
		Example: `  conch log tail flags
  conch log tail flags --from 1 --follow --json | jq -c .goal`,
		Args: exactly(1, "the namespace of the log"),
	}
	flags := cmd.Flags()
	flags.Uint64Var(&from, "from", 0, "the first `index`; 0: the last ten entries")
	flags.BoolVarP(&follow, "follow", "f", false, "go on with each entry that comes, until interrupted")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		if from == 0 {
			_, s, err := statusFrom(ctx, c, args[0])
			if err != nil {
				return err
			}
			if s.Position != nil {
				from = max(s.First, s.Position.Index-min(s.Position.Index, lastEntries-1))
			}
		}
		return a.entries(ctx, c, args[0], max(from, 1), follow)
	})
}

// lastEntries is how many entries are shown if nobody says from where.
const lastEntries = 10

// betweenTries is for how long tail waits while no node answers.
const betweenTries = time.Second

func (a *shell) entries(ctx context.Context, c *cli.Client, namespace string, from uint64, follow bool) error {
	away, last, began := false, "", false
	for {
		path := fmt.Sprintf("entries?from=%d&limit=%d", from, usualEntries)
		if follow && began { // the first answer comes at once, and says whether there is anything to wait for
			path += fmt.Sprintf("&wait_ms=%d", mostWait.Milliseconds())
		}
		_, page, err := cli.Fetch(ctx, c, http.MethodGet, about(namespace, path), func(p Page) bool { return p.Entries != nil })
		switch {
		case ctx.Err() != nil && follow:
			return nil // it was interrupted, which is how it ends
		case err != nil && follow && cli.Passing(err):
			if !away {
				a.Say("%s; it is asked again", cli.Sentence(err.Error()))
			}
			away = true
			_ = pause.For(ctx, betweenTries)
			continue
		case err != nil:
			return err
		}
		away = false
		for i := range page.Entries {
			e := &page.Entries[i]
			if last != "" && e.Prev != last {
				return fmt.Errorf("entry %d of the node does not follow entry %d, which was printed before: it has another log of that name now. Look at conch log status %s", e.Index, from-1, namespace)
			}
			if err := a.entry(e); err != nil {
				return err
			}
			from, last = e.Index+1, e.Hash
		}
		if newest := page.AsOf.Index; len(page.Entries) == 0 && !began && (!follow || from > newest+1) {
			a.ahead(from, newest, follow)
		}
		if len(page.Entries) == 0 && !follow {
			return nil
		}
		began = true
	}
}

// ahead says that there is no entry yet where somebody wants to begin: that may be a mistake, and the command is silent otherwise.
func (a *shell) ahead(from, newest uint64, follow bool) {
	text := fmt.Sprintf("the log ends at entry %d here", newest)
	if follow {
		text += fmt.Sprintf(": tail waits for entry %d", from)
	}
	a.Say("%s", text)
}

func (a *shell) entry(e *Entry) error {
	if a.JSON {
		return a.Document(e)
	}
	what := ""
	switch {
	case e.GoalID != "" && e.Fault != "":
		what = fmt.Sprintf(" %s: %s failed: %s", e.GoalID, e.Goal, e.Fault)
	case e.GoalID != "":
		what = fmt.Sprintf(" %s: %s → %s", e.GoalID, e.Goal, e.Result)
	case e.Members != nil:
		what = fmt.Sprint(" ", e.Members)
	}
	if err := a.Line("%d %s by %s in term %d, %s%s", e.Index, e.Kind, e.Leader, e.Term, cli.Clock(e.At), what); err != nil {
		return err
	}
	for _, change := range e.Changes {
		if err := a.Line("    %s", change); err != nil {
			return err
		}
	}
	return nil
}
