package crowd

import (
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what runs crowds.
func Simulator() world.Simulator[Config, Plot] {
	return world.Simulator[Config, Plot]{
		Name:  "gossip",
		Short: "thousands of nodes hear the same news and name one leader, as a hint",
		Long: `gossip runs nodes that suggest a leader by rumour, over the overlay that connects
them, in a simulated world full of faults. After every event it checks that no leader
is replaced without a cause and, with --electors, that two never lead for long; in the
end all must agree. The figures say how many rounds all took to agree, how many reigns
were needless, for how long nobody led and for how long several did, and the messages
and bytes; a round is 100 ms.
`,
		Example: `  conch-lab sim gossip --nodes 500 --scene crash --loss 20
  conch-lab sim gossip --electors 7 --scene minority
  conch-lab sim gossip --policy paper --scene cold
  conch-lab sim gossip --story partition-electors
  conch-lab sim gossip --runs 100 --json
  conch-lab sim gossip --break step-down
  conch-lab sim gossip --break peer-cache --runs 8`,
		Rules: rules, Scenes: scenes,
		Flags: flags, Complete: Config.WithDefaults, Validate: Config.Validate, Run: Run,
		Stories: texts, Settings: settings, Stage: newStage,
	}
}

func flags(f *world.Flags, c *Config) {
	f.Add("nodes", &c.Nodes, "how many nodes, 1 to 5000; default 50, or what --scene needs")
	f.Add("seed", &c.Seed, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	f.Add("rounds", &c.Rounds, "for how many rounds there are faults (default 300), or a scene lasts")
	f.Add("electors", &c.Electors, "how many of them may lead; default all, or what --scene needs")
	f.Add("contacts", &c.Contacts, "how many nodes all others have in their configuration, to join by (default 3)")
	f.Add("loss", &c.Loss, "how many of a hundred messages are lost")
	f.Add("stalls", &c.Stalls, "what is lost comes later, as on a connection, and holds up all after it")
	f.Add("diameter", &c.Diameter, "a heartbeat is valid for twice as many rounds (default 4)")
	f.Add("policy", &c.Policy, "by which `name` a leader is named: "+hint.Reign+" or "+hint.Paper+"; default the first")
}
