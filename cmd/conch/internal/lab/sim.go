package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/ontologies"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched"
	"github.com/conchhq/conch/schedule/scheduletest"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

func (l lab) sim() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "sim",
		Short: "run the protocols in a simulated world, thousands of times faster than life",
		Example: `  conch-lab sim election --nodes 5 --seed 7
  conch-lab sim sequencer --nodes 5 --seed 1
  conch-lab sim election --runs 10000 --json`,
	}, simulator(l, electiontest.Simulator()), simulator(l, sequencertest.Simulator()), simulator(l, gossiptest.Simulator()), simulator(l, ontologies.Simulator()),
		simulator(l, scheduletest.Simulator()), simulator(l, alertstest.Simulator()), l.simPending())
}

// simulator makes the command of a simulator.
func simulator[C, P any](l lab, s world.Simulator[C, P]) *cobra.Command {
	var c C
	var runs int
	var trace, quiet bool
	cmd := &cobra.Command{Use: s.Name, Aliases: s.Aliases, Short: s.Short, Long: s.Help(), Example: s.Example, Args: cli.NoArguments}
	flags := cmd.Flags()
	all := s.AllFlags(&c)
	all.AddTo(flags)
	at := s.Common(&c)
	flags.IntVar(&runs, "runs", 1, "how many runs, each with the next seed")
	flags.BoolVar(&trace, "trace", false, "print every event to stderr; one run only")
	if at.Story != nil {
		flags.BoolVar(&quiet, "quiet", false, "do not tell what happens; only the figures")
	}
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		if patched.Breaks(*at.Break) && patched.Out() != *at.Break {
			return l.without(ctx, *at.Break)
		}
		if err := complete(s, flags, &c); err != nil {
			return cli.Usagef("%w", err)
		}
		switch {
		case runs < 1:
			return cli.Usagef("--runs must be 1 or more")
		case trace && runs > 1:
			return cli.Usagef("--trace shows one run: leave --runs out")
		case trace:
			*at.Trace = l.Stderr
		case at.Story != nil && runs == 1 && !quiet && !l.JSON:
			*at.Story = l.Stdout
		}
		run := func(seed uint64) world.Report {
			one := c
			*s.Common(&one).Seed = seed
			return s.Run(one)
		}
		sum := simulate(ctx, world.Report{Seed: *at.Seed, Nodes: *at.Nodes}, runs, run, l.progress(runs))
		return l.conclude(ctx, sum, runs, unbroken(s.Rule(*at.Break)))
	})
	withStories(l, cmd, s, at.Break)
	return cmd
}

// complete sets what the flags leave out, and returns what is wrong with them. A flag of 0, or a false one, that the world needs
// otherwise is a fault, but for a seed of 0.
func complete[C, P any](s world.Simulator[C, P], flags *pflag.FlagSet, c *C) error {
	given := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	*c = s.Complete(*c)
	var f faults.List
	flags.Visit(func(one *pflag.Flag) {
		value := one.Value.String()
		is, off := value != given[one.Name] && one.Name != "seed", one.Value.Type() == "bool"
		f.Add(is && off, "--%s=%s shows nothing without the rule %s: it needs --%s", one.Name, given[one.Name], *s.Common(c).Break, one.Name)
		f.Add(is && !off, "--%s must be 1 or more; left out, it is %s", one.Name, value)
	})
	if err := f.All(); err != nil {
		return err
	}
	return s.Validate(*c)
}

// without goes on with the same command line in a build of this program that leaves a rule out.
func (l lab) without(ctx context.Context, rule string) error {
	program, err := patched.Program(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		err = os.Setenv(patched.Env, rule)
	}
	if err != nil {
		return fmt.Errorf("a patch of the source leaves %s out: %w", rule, err)
	}
	return cli.Become(l.World, program, os.Args[1:])
}

// conclude prints what came of runs: of those that were made, if the command was interrupted. Unbroken says why nothing was violated, if
// nothing was.
func (l lab) conclude(ctx context.Context, s summary, runs int, unbroken string) error {
	if s.made == 0 {
		return ctx.Err()
	}
	if err := errors.Join(l.printSim(s, runs, unbroken), ctx.Err()); err != nil {
		return err
	}
	if s.violating > 0 {
		return fmt.Errorf("%d of %d runs violated an invariant; see it again with: %s", s.violating, runs, s.Violations[0].Replay)
	}
	return nil
}

func (l lab) printSim(s summary, runs int, unbroken string) error {
	if l.JSON {
		return l.Document(s.Report)
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(s.Stats)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", name, s.Stats[name]))
	}
	count := fmt.Sprint(s.made)
	if s.made < runs {
		count += fmt.Sprint(" of ", runs)
	}
	header := fmt.Sprintf("%s runs from seed %d\t%d steps", count, s.Seed, s.Steps)
	if err := l.Table(header, rows); err != nil {
		return err
	}
	for _, v := range s.Violations {
		if err := l.Line("violated: %s after step %d  %s\n  %s", v.Invariant, v.Step, v.Detail, v.Replay); err != nil {
			return err
		}
	}
	if s.violating == 0 {
		return l.Line("\nno invariant was violated%s", unbroken)
	}
	return nil
}

// unbroken explains why nothing was violated although a rule was left out.
func unbroken[C any](rule *world.Rule[C]) string {
	switch {
	case rule == nil:
		return ""
	case rule.Invariant == "":
		return ", and none need be: " + rule.Why
	}
	return fmt.Sprintf(" in what was looked at, but without %s %s can be: look at more, say --runs 2000, and leave --scene out if you gave one", rule.Name, rule.Invariant)
}
