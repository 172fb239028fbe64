package lab

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched"
	"github.com/conchhq/conch/internal/world/story"
)

// withStories adds --story to the command of a simulator, which has all other flags.
func withStories[C, P any](l lab, cmd *cobra.Command, s world.Simulator[C, P], broke *string) {
	var name string
	cmd.Flags().StringVar(&name, "story", "", "play this `story`: a file, - for the standard input, or a name")
	plain := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if name == "" {
			return plain(cmd, args)
		}
		return cli.Does(func(ctx context.Context) error { return playStory(ctx, l, cmd, name, s, *broke) })(cmd, args)
	}
}

// storyFlags are those that go with --story; what world it is, a story says itself.
var storyFlags = []string{"story", "seed", "break", "runs", "trace", "quiet"}

func playStory[C, P any](ctx context.Context, l lab, cmd *cobra.Command, name string, s world.Simulator[C, P], broke string) error {
	flags := cmd.Flags()
	var wrong []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(storyFlags, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	switch {
	case len(wrong) > 0:
		return cli.Usagef("a story says itself what world it is: leave %s out", strings.Join(wrong, ", "))
	case patched.Breaks(broke) && patched.Out() != broke:
		return l.without(ctx, broke)
	}
	text, err := story.Find(name, s.Stories, l.Stdin)
	if err != nil {
		return cli.Usagef("--story: %w", err)
	}
	config := func(seed uint64) (c C) {
		at := s.Common(&c)
		*at.Seed, *at.Break = seed, broke
		return c
	}
	first, err := s.CheckStory(config(givenSeed(flags)), text)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	tell := func(seed uint64, trace, out io.Writer) world.Report {
		c := config(seed)
		*s.Common(&c).Trace = trace
		report, _ := s.Tell(c, text, out) // it is written rightly
		return report
	}
	return l.runStory(ctx, flags, first, tell, unbroken(s.Rule(broke)))
}

// givenSeed is the seed that a command line names; 0 if it names none.
func givenSeed(flags *pflag.FlagSet) (seed uint64) {
	if flags.Changed("seed") {
		seed, _ = flags.GetUint64("seed")
	}
	return seed
}

func (l lab) runStory(ctx context.Context, flags *pflag.FlagSet, first world.Report, tell func(seed uint64, trace, out io.Writer) world.Report, unbroken string) error {
	runs, _ := flags.GetInt("runs")
	trace, _ := flags.GetBool("trace")
	quiet, _ := flags.GetBool("quiet")
	switch {
	case runs < 1:
		return cli.Usagef("--runs must be 1 or more")
	case trace && runs > 1:
		return cli.Usagef("--trace shows one run: leave --runs out")
	}
	if runs > 1 || quiet || l.JSON {
		run := func(seed uint64) world.Report { return tell(seed, nil, nil) }
		return l.conclude(ctx, simulate(ctx, first, runs, run, l.progress(runs)), runs, unbroken)
	}
	var every io.Writer
	if trace {
		every = l.Stderr
	}
	report, err := within(ctx, func() world.Report { return tell(first.Seed, every, l.Stdout) })
	if err != nil {
		return err
	}
	return l.endStory(report)
}

// endStory says how a story has ended.
func (l lab) endStory(r world.Report) error {
	if len(r.Violations) == 0 {
		return l.Line("    no invariant was violated")
	}
	for _, v := range r.Violations {
		if err := l.Line("violated: %s after step %d  %s\n  %s", v.Invariant, v.Step, v.Detail, v.Replay); err != nil {
			return err
		}
	}
	return fmt.Errorf("the story violated %s", r.Violations[0].Invariant)
}
