package firehouse

import (
	"io"

	"github.com/conchhq/conch/internal/world"
)

// Config describes a run. Zero fields have defaults.
type Config struct {
	Nodes int       // 1 to 9; default 3
	Seed  uint64    // equal configurations give equal runs; default 1, or one with which the broken rule has shown
	Hours int       // for how long there are faults; default 3
	Break string    // a rule to leave out, or empty
	Trace io.Writer // gets every event
	Story io.Writer // gets a line for what a reader wants to know

	Telling world.Telling // the story that the run plays
}

// Simulator is what runs firehouses.
func Simulator() world.Simulator[Config, struct{}] {
	return world.Simulator[Config, struct{}]{
		Name:  "alerts",
		Short: "alerts, of which each is told once, under every fault",
		Long: `alerts evaluates rules and tells receivers in a simulated world full of faults, and then
half an hour without any. It checks that no incident is left open of what is over, that
everybody is told of what is not, that nothing false is told, and no text more than twice.
`,
		Example: `  conch-lab sim alerts --seed 7
  conch-lab sim alerts --runs 1000 --json
  conch-lab sim alerts --break doubt --runs 20`,
		Rules: rules, Run: Run, Stories: texts, Settings: settings, Stage: newStage,
		Flags: func(f *world.Flags, c *Config) {
			f.Add("nodes", &c.Nodes, "how many nodes, 1 to 9 (default 3)")
			f.Add("seed", &c.Seed, "seed of the run; with --runs that of the first one; default 1, or one with which --break has shown")
			f.Add("hours", &c.Hours, "for how long there are faults (default 3)")
		},
		Complete: func(c Config) Config { return Simulator().Fill(c, Config{Nodes: 3, Seed: 1, Hours: 3}) },
		Validate: func(c Config) error {
			f := Simulator().Unknown(c)
			f.Add(c.Nodes < 1 || c.Nodes > 9, "%d nodes: 1 to 9", c.Nodes)
			f.Add(c.Hours < 1 || c.Hours > 100, "%d hours: 1 to 100", c.Hours)
			return f.All()
		},
	}
}
