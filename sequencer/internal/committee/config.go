package committee

import (
	"cmp"
	"io"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer/internal/ranking"
)

// blockTime is the time between two blocks.
const blockTime = time.Second

// Config describes a run. Zero fields have defaults.
type Config struct {
	Nodes   int           // members, all of whom are in the committee; 5
	Seed    uint64        // equal configurations give equal runs; 1, or one with which the broken rule has shown
	Intents int           // that users hand in while there are faults; 40
	Needed  int           // endorsements; a majority
	Range   uint64        // blocks for which the ranking stays the same; 10
	Policy  string        // how the committee is ranked; ranking.RendezvousName
	Faults  time.Duration // while users hand their intents in; a minute
	Scene   string        // a world with one trouble, or empty for one with every fault
	Break   string        // a rule to leave out, or empty
	Calm    bool          // without faults
	Audit   bool          // coordinators are audited after each step
	Trace   io.Writer     // gets every event
	Story   io.Writer     // gets a line for what a reader wants to know
	Telling world.Telling // the story that the run plays
}

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	c = Simulator().Fill(c, Config{Nodes: 5, Seed: 1, Intents: 40, Range: 10, Faults: time.Minute})
	c.Needed = cmp.Or(c.Needed, c.Nodes/2+1)
	return c
}

// Validate returns every fault of a configuration with defaults.
func (c Config) Validate() error {
	f := Simulator().Unknown(c)
	f.Add(c.Nodes < 1 || c.Nodes > 100, "a committee has 1 to 100 nodes, not %d", c.Nodes)
	f.Add(c.Faults < 0, "faults for %v", c.Faults)
	f.Add(c.Range < 4, "a range of %d blocks: name 4 at least, since a switch takes that long", c.Range)
	f.Add(c.Intents < 1, "%d intents prove nothing", c.Intents)
	f.Add(c.Needed < 1 || c.Needed > c.Nodes, "%d endorsements of %d members", c.Needed, c.Nodes)
	_, is := ranking.Named(c.Policy)
	f.Add(!is, "no committee is ranked by %q: it is one of %q", c.Policy, ranking.Names())
	return f.All()
}
