package lab

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/crowd"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
)

func (l lab) simGossip() *cobra.Command {
	var cfg crowd.Config
	return l.simWorld(&cobra.Command{
		Use:   "gossip",
		Short: "thousands of nodes hear the same news and name one leader, as a hint",
		Long: `gossip runs nodes that suggest a leader by rumour, over the overlay that connects
them, in a simulated world full of faults. After every event it checks that no leader
is replaced without a cause and, with --electors, that two never lead for long; in the
end all must agree. The figures say how many rounds all took to agree, how many reigns
were needless, for how long nobody led and for how long several did, and the messages
and bytes; a round is 100 ms. Equal flags give equal runs; a violation prints the
command that repeats it. Exit 1 if there is one.

--scene shows a world with one trouble:

` + sceneList(crowd.Scenes()) + `

` + storyHelp(crowd.Stories) + `

--break leaves out one rule of the design, to show what it is for, in the world in
which it shows. All but own-signature and age-travels are left out by a patch of the
source: that needs Go, and a current folder in conch's source.

` + ruleList(crowd.Rules()),
		Example: `  conch-lab sim gossip --nodes 500 --scene crash --loss 20
  conch-lab sim gossip --electors 7 --scene minority
  conch-lab sim gossip --policy paper --scene cold
  conch-lab sim gossip --story partition-electors
  conch-lab sim gossip --runs 100 --json
  conch-lab sim gossip --break step-down
  conch-lab sim gossip --break peer-cache --runs 8`,
	}, world{
		flags: func(f *pflag.FlagSet) { crowdFlags(f, &cfg) },
		rules: crowd.Rules(),
		check: func() error { return cfg.WithDefaults().Validate() },
		about: func() (sim.Report, string) {
			whole := cfg.WithDefaults()
			return sim.Report{Seed: whole.Seed, Nodes: whole.Nodes}, cfg.Break
		},
		tells: func(trace, story io.Writer) {
			const told = 20 // in a larger crowd nobody reads every line
			if cfg.Trace = trace; cfg.WithDefaults().Nodes <= told {
				cfg.Story = story
			}
		},
		run: func(seed uint64) sim.Report {
			one := cfg
			one.Seed = seed
			return crowd.Run(one)
		},
		stories: stories{
			known: crowd.Stories,
			about: func(seed uint64, text story.Text) (sim.Report, error) {
				return crowd.AboutStory(crowd.Config{Seed: seed, Break: cfg.Break}, text)
			},
			tell: func(seed uint64, text story.Text, trace, out io.Writer) sim.Report {
				return crowd.Tell(crowd.Config{Seed: seed, Break: cfg.Break, Trace: trace}, text, out)
			},
		},
	})
}

// crowdFlags adds the flags that say what world it is.
func crowdFlags(flags *pflag.FlagSet, c *crowd.Config) {
	flags.IntVar(&c.Nodes, "nodes", 0, "how many nodes, 1 to 5000; default 50, or what --scene needs")
	flags.IntVar(&c.Electors, "electors", 0, "how many of them may lead; default all, or what --scene needs")
	flags.IntVar(&c.Contacts, "contacts", 0, "how many nodes all others have in their configuration, to join by (default 3)")
	flags.Uint64Var(&c.Seed, "seed", 0, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	flags.StringVar(&c.Policy, "policy", "", "by which `name` a leader is named: "+strings.Join(crowd.Policies(), " or ")+"; default the first")
	flags.IntVar(&c.Loss, "loss", 0, "how many of a hundred messages are lost")
	flags.BoolVar(&c.Stalls, "stalls", false, "what is lost comes later, as on a connection, and holds up all after it")
	flags.IntVar(&c.Diameter, "diameter", 0, "a heartbeat is valid for twice as many rounds (default 4)")
	flags.IntVar(&c.Rounds, "rounds", 0, "for how many rounds there are faults (default 300), or a scene lasts")
	flags.StringVar(&c.Scene, "scene", "", "a world with one `trouble`")
	flags.StringVar(&c.Break, "break", "", "leave out this `rule`")
}
