package electorate

import (
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what runs elections. It has no scenes: each run has every fault, and a drill at its end.
func Simulator() world.Simulator[Config, struct{}] {
	return world.Simulator[Config, struct{}]{
		Name:  "election",
		Short: "nodes that crash, stop, lose the database and have bad clocks elect a leader",
		Long: `election runs the elector's own machine, the gate and a model of the mint in a
simulated world full of faults. After every event it checks that no two acts overlap,
those of callers included, that epochs only grow, and that somebody leads in the end,
whatever locks and transactions other clients hold.
`,
		Example: `  conch-lab sim election --nodes 5 --seed 7
  conch-lab sim election --story frozen-leader
  conch-lab sim election --runs 10000 --json
  conch-lab sim election --seed 3 --break anchor-on-send`,
		Rules: rules, Flags: flags, Complete: Config.WithDefaults, Validate: Config.Validate, Run: Run,
		Stories: texts, Settings: settings, Stage: newStage,
	}
}

func flags(f *world.Flags, c *Config) {
	c.Seed = 1
	f.Add("nodes", &c.Nodes, "how many nodes (default 3)")
	f.Add("seed", &c.Seed, "seed of the run; with --runs that of the first one")
	f.Add("locks", &c.Locks, "session, process or mixed: how nodes keep what they win; default session, or what --break needs")
	f.Add("takeover", (*string)(&c.Takeover), "strict, fast or keep; or mixed: each process draws strict or fast (default \"strict\")")
	f.Add("scopes", &c.Scopes, "how many scopes each node campaigns for (default 1)")
	f.Add("steps", &c.Steps, "how many events until the faults end (default 1500)")
	f.Add("unequal-leases", &c.UnequalLeases, "give every node a different lease")
}
