package committee

import (
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer/internal/ranking"
)

// Simulator is what runs committees.
func Simulator() world.Simulator[Config, Plot] {
	return world.Simulator[Config, Plot]{
		Name:  "sequencer",
		Short: "organisations that share a private contract crash, are cut off and lose messages",
		Long: `sequencer runs the machines of a private contract in a simulated world full of
faults: at each organisation the sender of its users' intents, a coordinator and an
endorser, and a base ledger that alone decides what is true. After every event it
checks that no intent lands twice, that everybody is told the truth, and that every
intent ends, in a scene also how soon. One run tells what happens; the times are those
of the simulated world.
`,
		Example: `  conch-lab sim sequencer --nodes 5 --seed 1
  conch-lab sim sequencer --scene cut-link
  conch-lab sim sequencer --story partition-limp
  conch-lab sim sequencer --policy ring --runs 100
  conch-lab sim sequencer --runs 1000 --json
  conch-lab sim sequencer --runs 20 --break sequence-per-intent`,
		Rules: rules, Scenes: slices.Concat(scenes, withLies()),
		Flags: flags, Complete: Config.WithDefaults, Validate: Config.Validate, Run: Run,
		Stories: texts, Settings: settings, Stage: newStage,
	}
}

func flags(f *world.Flags, c *Config) {
	f.Add("nodes", &c.Nodes, "how many organisations; default 5, or what --scene needs")
	f.Add("seed", &c.Seed, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
	f.Add("intents", &c.Intents, "how many intents users hand in while there are faults (default 40)")
	f.Add("needed", &c.Needed, "how many endorsements an attempt needs; default a majority")
	f.Add("range", &c.Range, "for how many blocks the ranking stays the same (default 10)")
	f.Add("faults", &c.Faults, "for how long there are faults (default 1m0s)")
	f.Add("calm", &c.Calm, "a world without faults")
	f.Add("policy", &c.Policy, "by which `name` the committee is ranked: "+strings.Join(ranking.Names(), " or ")+"; default the first")
}
