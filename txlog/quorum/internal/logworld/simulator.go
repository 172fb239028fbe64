package logworld

import (
	"slices"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// Simulator is what runs logs of keys and values, or of more machines.
func Simulator(more ...Machine) world.Simulator[Config, Plot] {
	with := func(c Config) Config {
		c.more = more
		return c
	}
	shelf := shelves{texts}
	for _, m := range more {
		if m.Stories != nil {
			shelf = append(shelf, m.Stories)
		}
	}
	return world.Simulator[Config, Plot]{
		Name:    "log",
		Aliases: []string{"txlog"},
		Short:   "members decide on a log that every node has a verified copy of",
		Long: `log runs the machines of a log in a simulated world full of faults: members that
decide by a majority, followers that copy, clients that ask again. Processes die and
stand still, disks are lost and bits flip, the network is cut and the members change.
After every event it checks that all nodes have one entry at each index, that nothing
that was acknowledged is lost, that each goal is executed once and by a right memory,
and that act doors never overlap; in the end every goal is answered and all copies are
equal.
`,
		Example: `  conch-lab sim log --nodes 7 --members 5 --seed 1
  conch-lab sim log --scene crash-committed
  conch-lab sim log --scene lost-majority
  conch-lab sim log --story frozen-leader
  conch-lab sim log --runs 1000 --json
  conch-lab sim log --runs 40 --break look-before-storing`,
		Rules: rules, Scenes: slices.Concat(scenes, stories),
		Flags: func(f *world.Flags, c *Config) {
			*c = with(*c)
			flags(f, c)
		},
		Complete: func(c Config) Config { return with(c.WithDefaults()) }, Validate: Config.Validate,
		Run:     func(c Config) world.Report { return Run(with(c)) },
		Stories: shelf, Stage: newStage,
		Settings: func(c *Config) []story.Setting { *c = with(*c); return settings(c) },
	}
}

func flags(f *world.Flags, c *Config) {
	f.Add("nodes", &c.Nodes, "how many nodes, 1 to 60; default 7, or what --scene needs")
	f.Add("members", &c.Members, "how many of them decide, 1 to 9; default 5, or what --scene needs")
	f.Add("clients", &c.Clients, "how many clients ask for goals (default 4)")
	f.Add("seed", &c.Seed, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	f.Add("faults", &c.Faults, "for how long there are faults (default 40s, or what --scene needs)")
	f.Add("machine", &c.Machine, "what the goals are of, "+c.machineNames()+" (default kv)")
	f.Add("loss", &c.Loss, "how many of a hundred messages are lost")
	f.Add("stalls", &c.Stalls, "what is lost comes later, as on a connection, and holds up all after it")
	f.Add("calm", &c.Calm, "a world without faults")
}
