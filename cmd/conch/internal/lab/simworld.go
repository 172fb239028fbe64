package lab

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/patched"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
)

// world is a simulated world that has scenes and rules, as a command of sim runs it.
type world struct {
	flags func(*pflag.FlagSet)
	rules []sim.RuleInfo
	check func() error                            // what is wrong with the flags
	about func() (first sim.Report, broke string) // the seed, the number of nodes, and the rule that is left out
	tells func(trace, story io.Writer)            // who gets every event, and who what happens; nil: nobody
	run   func(seed uint64) sim.Report
	stories
}

// simWorld makes the command of a world from its texts.
func (l lab) simWorld(cmd *cobra.Command, w world) *cobra.Command {
	var runs int
	var trace, quiet bool
	cmd.Args = cli.NoArguments
	flags := cmd.Flags()
	w.flags(flags)
	flags.IntVar(&runs, "runs", 1, "how many runs, each with the next seed")
	flags.BoolVar(&trace, "trace", false, "print every event to stderr; one run only")
	flags.BoolVar(&quiet, "quiet", false, "do not tell what happens; only the figures")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		first, broke := w.about()
		if patched.Breaks(broke) && patched.Out() != broke {
			return l.without(ctx, broke)
		}
		if err := w.check(); err != nil {
			return cli.Usagef("%w", err)
		}
		switch {
		case runs < 1:
			return cli.Usagef("--runs must be 1 or more")
		case trace && runs > 1:
			return cli.Usagef("--trace shows one run: leave --runs out")
		case trace:
			w.tells(l.Stderr, nil)
		case runs == 1 && !quiet && !l.JSON:
			w.tells(nil, l.Stdout)
		}
		return l.conclude(ctx, simulate(ctx, first, runs, w.run, l.progress(runs)), runs, unbroken(w.rules, broke))
	})
	return l.withStories(cmd, w.stories, w.rules)
}

// without runs the same command line in a build of this program that leaves a rule out.
func (l lab) without(ctx context.Context, rule string) error {
	code, err := patched.Run(ctx, rule, os.Args[1:], l.Stdin, l.Stdout, l.Stderr)
	if err == nil && code != 0 {
		err = cli.ExitError(code)
	}
	return err
}
