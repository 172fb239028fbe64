package lab

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
)

func (l lab) simLog() *cobra.Command {
	var cfg bulletin.Config
	return l.simWorld(&cobra.Command{
		Use:     "log",
		Aliases: []string{"txlog"},
		Short:   "members decide on a log that every node has a verified copy of",
		Long: `log runs the machines of a log in a simulated world full of faults: members that
decide by a majority, followers that copy, clients that ask again. Processes die and
stand still, disks are lost and bits flip, the network is cut and the members change.
After every event it checks that all nodes have one entry at each index, that nothing
that was acknowledged is lost, that each goal is executed once and by a right memory,
and that act doors never overlap; in the end every goal is answered and all copies are
equal. Equal flags give equal runs; a violation prints the command that repeats it.
Exit 1 if there is one.

--scene shows a world with one trouble:

` + sceneList(bulletin.Scenes()) + `

` + storyHelp(bulletin.Stories) + `

--break leaves out one rule of the design, to show what it is for, in the world in
which it shows:

` + ruleList(bulletin.Rules()),
		Example: `  conch-lab sim log --nodes 7 --members 5 --seed 1
  conch-lab sim log --scene crash-committed
  conch-lab sim log --scene lost-majority
  conch-lab sim log --story frozen-leader
  conch-lab sim log --runs 1000 --json
  conch-lab sim log --runs 40 --break look-before-storing`,
	}, world{
		flags: func(f *pflag.FlagSet) { logFlags(f, &cfg) },
		rules: bulletin.Rules(),
		check: func() error { return cfg.WithDefaults().Validate() },
		about: func() (sim.Report, string) {
			return sim.Report{Seed: cfg.WithDefaults().Seed, Nodes: cfg.WithDefaults().Nodes}, cfg.Break
		},
		tells: func(trace, story io.Writer) { cfg.Trace, cfg.Story = trace, story },
		run: func(seed uint64) sim.Report {
			one := cfg
			one.Seed = seed
			return bulletin.Run(one)
		},
		stories: stories{
			known: bulletin.Stories,
			about: func(seed uint64, text story.Text) (sim.Report, error) {
				return bulletin.AboutStory(bulletin.Config{Seed: seed, Break: cfg.Break}, text)
			},
			tell: func(seed uint64, text story.Text, trace, out io.Writer) sim.Report {
				return bulletin.Tell(bulletin.Config{Seed: seed, Break: cfg.Break, Trace: trace}, text, out)
			},
		},
	})
}

// logFlags adds the flags that say what world it is.
func logFlags(flags *pflag.FlagSet, c *bulletin.Config) {
	flags.IntVar(&c.Nodes, "nodes", 0, "how many nodes, 1 to 60; default 7, or what --scene needs")
	flags.IntVar(&c.Members, "members", 0, "how many of them decide, 1 to 9; default 5, or what --scene needs")
	flags.Uint64Var(&c.Seed, "seed", 0, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	flags.IntVar(&c.Clients, "clients", 0, "how many clients ask for goals (default 4)")
	flags.IntVar(&c.Loss, "loss", 0, "how many of a hundred messages are lost")
	flags.BoolVar(&c.Stalls, "stalls", false, "what is lost comes later, as on a connection, and holds up all after it")
	flags.DurationVar(&c.Faults, "faults", 0, "for how long there are faults (default 40s, or what --scene needs)")
	flags.BoolVar(&c.Calm, "calm", false, "a world without faults")
	flags.StringVar(&c.Scene, "scene", "", "a world with one `trouble`")
	flags.StringVar(&c.Break, "break", "", "leave out this `rule`")
}
