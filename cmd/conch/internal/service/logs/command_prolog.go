package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog"
)

// goalOf returns a goal as the node takes it. What is no JSON is a goal of Prolog, if the log has that.
func (a *shell) goalOf(ctx context.Context, c *cli.Client, cmd *cobra.Command, args []string) (json.RawMessage, error) {
	if json.Valid([]byte(args[1])) {
		return json.RawMessage(args[1]), nil
	}
	_, s, err := statusFrom(ctx, c, args[0])
	switch {
	case err != nil:
		return nil, err
	case s.Machine != "" && s.Machine != prolog.Machine:
		return nil, cli.Usagef("the goal is no JSON, which a log of %s takes: see %q", s.Machine, cmd.CommandPath()+" --help")
	}
	return json.Marshal(args[1])
}

// solved is the result of a goal of Prolog.
type solved struct {
	Bindings json.RawMessage `json:"bindings"`
	Output   string          `json:"output"`
}

// solution writes the result of a goal of Prolog as people who know it expect; false: it is none.
func solution(result []byte) (text string, is bool) {
	var s solved
	if json.Unmarshal(result, &s) != nil || s.Bindings == nil {
		return "", false
	}
	bindings, err := pairs(s.Bindings)
	if err != nil {
		return "", false
	}
	if text = strings.Join(bindings, ", "); text == "" {
		text = "true"
	}
	if s.Output != "" && !strings.HasSuffix(s.Output, "\n") {
		s.Output += "\n"
	}
	return s.Output + text + ".", true
}

// pairs returns NAME = VALUE of each field of an object, in its order.
func pairs(object []byte) (all []string, err error) {
	from := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := from.Token(); err != nil {
		return nil, err
	}
	for from.More() {
		name, err := from.Token()
		var value string
		if err := errors.Join(err, from.Decode(&value)); err != nil {
			return nil, err
		}
		all = append(all, name.(string)+" = "+value) //nolint:errcheck,forcetypeassert // the name of a field
	}
	return all, nil
}

// noSolution begins the fault of a goal of Prolog that has none.
const noSolution = "no: "

// setUnknown submits the goal that says what a call of a predicate that does not exist is. Its id is of the log, so that it is executed once.
func (a *shell) setUnknown(ctx context.Context, c *cli.Client, namespace string, made Created, unknown string) error {
	if made.Machine != prolog.Machine {
		return cli.Usagef("--unknown is of machine prolog, and the log that was made is of %s", made.Machine)
	}
	goal, err := json.Marshal("set_prolog_flag(unknown, " + unknown + ")")
	if err != nil {
		return err
	}
	var o Outcome
	err = c.Ask(ctx, http.MethodPost, about(namespace, "goals"), Asked{GoalID: "unknown-" + unknown + "-" + made.ID[:16], Goal: goal, Since: new(uint64)}, &o)
	switch {
	case err != nil:
		return fmt.Errorf("the log was made, and is without the flag: ask for the same again: %w", err)
	case o.Fault != "":
		return fmt.Errorf("the log was made, and is without the flag: %s", o.Fault)
	}
	return nil
}

func (a *shell) consult() *cobra.Command {
	var id string
	var reverse bool
	cmd := &cobra.Command{
		Use:   "consult NAMESPACE FILE",
		Short: "load a file of clauses into a log of machine prolog",
		Long: `consult submits a file as one goal: each predicate that it defines has its clauses afterwards and no others, so
loading it twice is loading it once. It is loaded as a whole or not at all, and has 64 KiB at most as JSON: a larger
one is to be split by predicates. With --reverse the clauses of each predicate are in the reverse order, which is
what programs that load a file by asserta/1 have. FILE is - for the standard input.`,
		Example: `  conch log consult world world.pl
  conch log consult world root.pl --reverse`,
		Args: exactly(2, "the namespace of the log and a file"),
	}
	cmd.Flags().StringVar(&id, "goal-id", "", "your own `name` for the goal: repeated within 10,000 entries, it is executed once")
	cmd.Flags().BoolVar(&reverse, "reverse", false, "the last clause of each predicate comes first")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		text, err := readText(args[1], cmd.InOrStdin())
		if err != nil {
			return err
		}
		goal, err := json.Marshal(struct {
			Consult string `json:"consult"`
			Reverse bool   `json:"reverse,omitempty"`
		}{text, reverse})
		switch {
		case err != nil:
			return err
		case len(goal) > txlog.MostGoal:
			return cli.Usagef("the file is a goal of %d bytes, of %d at most: split it by predicates, since half of a file must not be loaded", len(goal), txlog.MostGoal)
		}
		newest, err := newestAt(ctx, c, args[0])
		if err != nil {
			return err
		}
		return a.submit(ctx, c, []string{args[0], string(goal)}, Asked{GoalID: cli.NewKey(id), Goal: goal, Since: &newest}, false)
	})
}

func readText(name string, stdin io.Reader) (string, error) {
	if name == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, 2*txlog.MostGoal))
		return string(text), err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", cli.Usagef("the file cannot be read: %w", err)
	}
	return string(text), nil
}

func (a *shell) listing() *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use:   "listing NAMESPACE [NAME[/ARITY]]",
		Short: "the clauses of a log of machine prolog",
		Long: `listing prints the clauses that the node's copy has, as consult takes them: those of a predicate, or all. With
--fresh they have everything that was acknowledged before.`,
		Example: `  conch log listing world
  conch log listing world at/2 --fresh`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return cli.Usagef("%s takes the namespace of the log, and perhaps a predicate: see %q", cmd.Name(), cmd.CommandPath()+" --help")
		},
	}
	cmd.Flags().BoolVar(&fresh, "fresh", false, "answer with everything that was acknowledged before")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		of := ""
		if len(args) == 2 {
			of = args[1]
		}
		query, err := json.Marshal(map[string]string{"listing": of})
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := c.Ask(ctx, http.MethodPost, about(args[0], "state"), Question{query, fresh}, &raw); err != nil {
			return err
		}
		var read Read
		var text prolog.Listing
		switch {
		case json.Unmarshal(raw, &read) != nil || read.Answer == nil:
			return c.Stranger()
		case a.JSON:
			return a.Document(raw)
		case json.Unmarshal([]byte(read.Answer), &text) != nil:
			return a.Line("%s", read.Answer)
		}
		for _, line := range slices.Collect(strings.Lines(text.Text)) {
			if err := a.Line("%s", strings.TrimSuffix(line, "\n")); err != nil {
				return err
			}
		}
		return nil
	})
}
