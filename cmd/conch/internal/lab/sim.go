package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/election"
)

func (l lab) sim() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "sim",
		Short: "run the protocols in a simulated world, thousands of times faster than life",
		Example: `  conch-lab sim election --nodes 5 --seed 7
  conch-lab sim sequencer --nodes 5 --seed 1
  conch-lab sim election --runs 10000 --json`,
	}, l.simElection(), l.simSequencer(), l.simGossip(), l.simLog())
}

func (l lab) simElection() *cobra.Command {
	var cfg sim.Config
	var takeover string
	var runs int
	var trace bool
	cmd := &cobra.Command{
		Use:   "election",
		Short: "nodes that crash, stop, lose the database and have bad clocks elect a leader",
		Long: `election runs the elector's own machine, the gate and a model of the mint in a
simulated world full of faults. After every event it checks that no two acts overlap,
those of callers included, that epochs only grow, and that somebody leads in the end,
whatever locks and transactions other clients hold. Equal flags give equal runs; a
violation prints the command that repeats it. Exit 1 if there is one.

` + storyHelp(sim.Stories) + `

--break leaves out one rule of the design, to show what it is for. Unless other flags
are given, nodes, scopes, takeover, locks and leases are then those with which it shows:

` + ruleList(sim.Rules()),
		Example: `  conch-lab sim election --nodes 5 --seed 7
  conch-lab sim election --story frozen-leader
  conch-lab sim election --runs 10000 --json
  conch-lab sim election --seed 3 --break anchor-on-send`,
		Args: cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.IntVar(&cfg.Nodes, "nodes", 3, "how many nodes")
	flags.Uint64Var(&cfg.Seed, "seed", 1, "seed of the run; with --runs that of the first one")
	flags.IntVar(&runs, "runs", 1, "how many runs, each with the next seed")
	flags.IntVar(&cfg.Steps, "steps", 1500, "how many events until the faults end")
	flags.IntVar(&cfg.Scopes, "scopes", 1, "how many scopes each node campaigns for")
	flags.StringVar(&takeover, "takeover", string(election.Strict), "strict, fast or keep; or mixed: each process draws strict or fast")
	flags.StringVar(&cfg.Locks, "locks", "", "session, process or mixed: how nodes keep what they win; default session, or what --break needs")
	flags.BoolVar(&cfg.UnequalLeases, "unequal-leases", false, "give every node a different lease")
	flags.StringVar(&cfg.Break, "break", "", "leave out this `rule`")
	flags.BoolVar(&trace, "trace", false, "print every event to stderr; one run only")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		cfg.Takeover = election.Takeover(takeover)
		if cfg.Nodes < 1 || cfg.Scopes < 1 || cfg.Steps < 1 || runs < 1 { // in a Config, 0 means the default
			return cli.Usagef("--nodes, --scopes, --steps and --runs must be 1 or more")
		}
		switch err := fitToRule(&cfg, flags.Changed); {
		case err != nil:
			return cli.Usagef("%w", err)
		case trace && runs > 1:
			return cli.Usagef("--trace shows one run: leave --runs out")
		case trace:
			cfg.Trace = l.Stderr
		}
		return l.runSim(ctx, cfg, runs)
	})
	return l.withStories(cmd, stories{
		known: sim.Stories,
		about: func(seed uint64, text story.Text) (sim.Report, error) {
			return sim.AboutStory(sim.Config{Seed: seed, Break: cfg.Break}, text)
		},
		tell: func(seed uint64, text story.Text, trace, out io.Writer) sim.Report {
			return sim.Tell(sim.Config{Seed: seed, Break: cfg.Break, Trace: trace}, text, out)
		},
	}, sim.Rules())
}

// fitToRule chooses the world in which a broken rule shows, unless the flags name another.
// Then it returns an error that says what that world lacks.
func fitToRule(cfg *sim.Config, given func(flag string) bool) error {
	if !given("nodes") {
		cfg.Nodes = 0
	}
	if !given("scopes") {
		cfg.Scopes = 0
	}
	if !given("takeover") {
		cfg.Takeover = ""
	}
	equal := given("unequal-leases") && !cfg.UnequalLeases
	*cfg = cfg.WithDefaults()
	if equal && cfg.UnequalLeases {
		return fmt.Errorf("without the rule %s, equal leases violate no invariant: it needs --unequal-leases", cfg.Break)
	}
	return cfg.Validate()
}

func sceneList(names, what []string) string {
	var b strings.Builder
	for i, name := range names {
		fmt.Fprintf(&b, "  %-21s %s\n", name, what[i])
	}
	return strings.TrimRight(b.String(), "\n")
}

func ruleList(rules []sim.RuleInfo) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "  %-27s %s\n", r.Name, r.Why)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (l lab) runSim(ctx context.Context, cfg sim.Config, runs int) error {
	s := simulate(ctx, sim.Report{Seed: cfg.Seed, Nodes: cfg.Nodes}, runs, func(seed uint64) sim.Report {
		one := cfg
		one.Seed = seed
		return sim.Election(one)
	}, l.progress(runs))
	return l.conclude(ctx, s, runs, unbroken(sim.Rules(), cfg.Break))
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
func unbroken(rules []sim.RuleInfo, broken string) string {
	for _, r := range rules {
		switch {
		case r.Name != broken:
		case r.Invariant == "":
			return ", and none need be: " + r.Why
		default:
			return fmt.Sprintf(" in what was looked at, but without %s %s can be: look at more, say --runs 2000, and leave --scene out if you gave one", r.Name, r.Invariant)
		}
	}
	return ""
}
