package lab

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/committee"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
)

func (l lab) simSequencer() *cobra.Command {
	var cfg committee.Config
	return l.simWorld(&cobra.Command{
		Use:   "sequencer",
		Short: "organisations that share a private contract crash, are cut off and lose messages",
		Long: `sequencer runs the machines of a private contract in a simulated world full of
faults: at each organisation the sender of its users' intents, a coordinator and an
endorser, and a base ledger that alone decides what is true. After every event it
checks that no intent lands twice, that everybody is told the truth, and that every
intent ends. One run tells what happens; the times are those of the simulated world.
Equal flags give equal runs; a violation prints the command that repeats it. Exit 1 if
there is one.

--scene shows a world with one trouble, and checks how long intents take in it:

` + sceneList(committee.Scenes()) + `

` + storyHelp(committee.Stories) + `

--break leaves out one rule of the design, to show what it is for, in the world in
which it shows:

` + ruleList(committee.Rules()),
		Example: `  conch-lab sim sequencer --nodes 5 --seed 1
  conch-lab sim sequencer --scene cut-link
  conch-lab sim sequencer --story partition-limp
  conch-lab sim sequencer --policy ring --runs 100
  conch-lab sim sequencer --runs 1000 --json
  conch-lab sim sequencer --runs 20 --break sequence-per-intent`,
	}, world{
		flags: func(f *pflag.FlagSet) { worldFlags(f, &cfg) },
		rules: committee.Rules(),
		check: func() error { return cfg.WithDefaults().Validate() },
		about: func() (sim.Report, string) {
			return sim.Report{Seed: cfg.WithDefaults().Seed, Nodes: cfg.WithDefaults().Nodes}, cfg.Break
		},
		tells: func(trace, story io.Writer) { cfg.Trace, cfg.Story = trace, story },
		run: func(seed uint64) sim.Report {
			one := cfg
			one.Seed = seed
			return committee.Run(one)
		},
		stories: stories{
			known: committee.Stories,
			about: func(seed uint64, text story.Text) (sim.Report, error) {
				return committee.AboutStory(committee.Config{Seed: seed, Break: cfg.Break}, text)
			},
			tell: func(seed uint64, text story.Text, trace, out io.Writer) sim.Report {
				return committee.Tell(committee.Config{Seed: seed, Break: cfg.Break, Trace: trace}, text, out)
			},
		},
	})
}

// worldFlags adds the flags that say what world it is.
func worldFlags(flags *pflag.FlagSet, c *committee.Config) {
	flags.IntVar(&c.Nodes, "nodes", 0, "how many organisations; default 5, or what --scene needs")
	flags.Uint64Var(&c.Seed, "seed", 0, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	flags.IntVar(&c.Intents, "intents", 0, "how many intents users hand in while there are faults (default 40)")
	flags.IntVar(&c.Needed, "needed", 0, "how many endorsements an attempt needs; default a majority")
	flags.Uint64Var(&c.Range, "range", 0, "for how many blocks the ranking stays the same (default 10)")
	flags.StringVar(&c.Policy, "policy", "", "by which `name` the committee is ranked: "+strings.Join(committee.Policies(), " or ")+"; default the first")
	flags.DurationVar(&c.Faults, "faults", 0, "for how long there are faults (default 1m0s)")
	flags.BoolVar(&c.Calm, "calm", false, "a world without faults")
	flags.StringVar(&c.Scene, "scene", "", "a world with one `trouble`")
	flags.StringVar(&c.Break, "break", "", "leave out this `rule`")
}
