package crowd

import (
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/world"
	"github.com/conchhq/conch/gossip"
)

// Simulator is what runs crowds.
func Simulator() world.Simulator[Config, plot] {
	return world.Simulator[Config, plot]{
		Name:  "gossip",
		Short: "thousands of nodes hear the same news and name one leader, as a hint",
		Long: `gossip runs nodes that suggest a leader by rumour, over the overlay that connects
them, in a simulated world full of faults. After every event it checks that no leader
is replaced without a cause and, with --electors, that two never lead for long; in the
end all must agree. The figures say how many rounds all took to agree, how many reigns
were needless, for how long nobody led and for how long several did, and the messages
and bytes; a round is 100 ms. Equal flags give equal runs; a violation prints the
command that repeats it. Exit 1 if there is one.

--scene shows a world with one trouble:

{scenes}

--story plays a story: a text that says what happens, and what has to come of it. It is a
file, - for the standard input, or one of those that are there:

{stories}

docs/simulation.md teaches to write one.

--break leaves out one rule of the design, to show what it is for, in the world in
which it shows. All but own-signature and age-travels are left out by a patch of the
source: that needs Go, and a current folder in conch's source.

{rules}
`,
		Example: `  conch-lab sim gossip --nodes 500 --scene crash --loss 20
  conch-lab sim gossip --electors 7 --scene minority
  conch-lab sim gossip --policy paper --scene cold
  conch-lab sim gossip --story partition-electors
  conch-lab sim gossip --runs 100 --json
  conch-lab sim gossip --break step-down
  conch-lab sim gossip --break peer-cache --runs 8`,
		Rules: rules, Scenes: scenes,
		Common: common, Flags: flags, Complete: Config.WithDefaults, Validate: Config.Validate, Run: Run,
		Stories: texts, Kind: kind,
	}
}

func common(c *Config) world.Common {
	return world.Common{Nodes: &c.Nodes, Seed: &c.Seed, Scene: &c.Scene, Break: &c.Break, Trace: &c.Trace, Telling: &c.told, Story: &c.Story}
}

func flags(f *pflag.FlagSet, c *Config) {
	f.IntVar(&c.Nodes, "nodes", 0, "how many nodes, 1 to 5000; default 50, or what --scene needs")
	f.Uint64Var(&c.Seed, "seed", 0, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	f.IntVar(&c.Rounds, "rounds", 0, "for how many rounds there are faults (default 300), or a scene lasts")
	f.IntVar(&c.Electors, "electors", 0, "how many of them may lead; default all, or what --scene needs")
	f.IntVar(&c.Contacts, "contacts", 0, "how many nodes all others have in their configuration, to join by (default 3)")
	f.IntVar(&c.Loss, "loss", 0, "how many of a hundred messages are lost")
	f.BoolVar(&c.Stalls, "stalls", false, "what is lost comes later, as on a connection, and holds up all after it")
	f.IntVar(&c.Diameter, "diameter", 0, "a heartbeat is valid for twice as many rounds (default 4)")
	f.StringVar(&c.Policy, "policy", "", "by which `name` a leader is named: "+gossip.Reign+" or "+gossip.Paper+"; default the first")
}
