package lab

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/patched"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
)

// stories is what a world can do with a story.
type stories struct {
	known fs.FS // that it brings along
	// about returns the seed, 0 for that of the story, and the number of nodes; an error if the story is written wrongly.
	about func(seed uint64, text story.Text) (sim.Report, error)
	tell  func(seed uint64, text story.Text, trace, out io.Writer) sim.Report
}

// storyHelp says in the help of a command what stories are.
func storyHelp(known fs.FS) string {
	names, _ := story.Names(known)
	return `--story plays a story: a text that says what happens, and what has to come of it. It is a
file, - for the standard input, or one of those that are there:
` + wrapped(names) + `
docs/simulation.md teaches to write one.`
}

// wrapped lists names in lines as long as those of a help text.
func wrapped(names []string) string {
	var b strings.Builder
	at := 0
	for _, name := range names {
		if at == 0 || at+len(name) > 85 {
			b.WriteString("\n ")
			at = 1
		}
		b.WriteString(" " + name)
		at += len(name) + 1
	}
	return b.String() + "\n"
}

// withStories adds --story to a command that has all other flags, those of its world among them.
func (l lab) withStories(cmd *cobra.Command, s stories, rules []sim.RuleInfo) *cobra.Command {
	var name string
	cmd.Flags().StringVar(&name, "story", "", "play this `story`: a file, - for the standard input, or a name")
	plain := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if name == "" {
			return plain(cmd, args)
		}
		return cli.Does(func(ctx context.Context) error { return l.playStory(ctx, cmd, name, s, rules) })(cmd, args)
	}
	return cmd
}

// storyFlags are those that go with --story; what world it is, a story says itself.
var storyFlags = []string{"story", "seed", "break", "runs", "trace", "quiet"}

func (l lab) playStory(ctx context.Context, cmd *cobra.Command, name string, s stories, rules []sim.RuleInfo) error {
	flags := cmd.Flags()
	var wrong []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(storyFlags, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	broke, _ := flags.GetString("break")
	switch {
	case len(wrong) > 0:
		return cli.Usagef("a story says itself what world it is: leave %s out", strings.Join(wrong, ", "))
	case broke != "" && !slices.ContainsFunc(rules, func(r sim.RuleInfo) bool { return r.Name == broke }):
		return cli.Usagef("there is no rule %q", broke)
	case patched.Breaks(broke) && patched.Out() != broke:
		return l.without(ctx, broke)
	}
	text, err := story.Find(name, s.known, l.Stdin)
	if err != nil {
		return cli.Usagef("--story: %w", err)
	}
	first, err := s.about(givenSeed(flags), text)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	return l.runStory(ctx, flags, first, text, s, unbroken(rules, broke))
}

// givenSeed is the seed that a command line names; 0 if it names none.
func givenSeed(flags *pflag.FlagSet) (seed uint64) {
	if flags.Changed("seed") {
		seed, _ = flags.GetUint64("seed")
	}
	return seed
}

func (l lab) runStory(ctx context.Context, flags *pflag.FlagSet, first sim.Report, text story.Text, s stories, unbroken string) error {
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
		tell := func(seed uint64) sim.Report { return s.tell(seed, text, nil, nil) }
		return l.conclude(ctx, simulate(ctx, first, runs, tell, l.progress(runs)), runs, unbroken)
	}
	var every io.Writer
	if trace {
		every = l.Stderr
	}
	return l.endStory(s.tell(first.Seed, text, every, l.Stdout))
}

// endStory says how a story has ended.
func (l lab) endStory(r sim.Report) error {
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
