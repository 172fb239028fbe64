package logworld

import (
	"cmp"
	"io"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// round is what the other worlds count in too: one tick of a member.
const round = 100 * time.Millisecond

// Config describes a run. Zero fields have defaults.
type Config struct {
	Nodes   int           // 1 to 60; default 7
	Members int           // how many of them decide; default 5, or as many as there are
	Seed    uint64        // equal configurations give equal runs; default 1, or one with which the broken rule has shown
	Clients int           // default 4
	Loss    int           // of the messages, in percent
	Stalls  bool          // a message that is lost comes later, and holds up all after it, as on a connection
	Faults  time.Duration // for how long there are faults; default 40 s, or what the scene needs
	Calm    bool          // a world without faults
	Machine string        // what the goals are of; empty: kv
	Scene   string        // a world with one trouble, or empty for one with every fault
	Break   string        // a rule to leave out, or empty
	Trace   io.Writer     // gets every event
	Story   io.Writer     // gets a line for what a reader wants to know
	Telling world.Telling // the story that the run plays

	more []Machine // that there are beside kv
}

const mostNodes = 60

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	usual := Config{Nodes: 7, Seed: 1, Clients: 4, Faults: 40 * time.Second}
	if c = Simulator().Fill(c, Config{}); c.Scene != "" {
		usual.Nodes = 5
	}
	c = Simulator().Fill(c, usual)
	c.Members = cmp.Or(c.Members, min(5, c.Nodes))
	return c
}

// Validate returns every fault of a configuration with defaults.
func (c Config) Validate() error {
	f := Simulator().Unknown(c)
	f.Add(c.Nodes < 1 || c.Nodes > mostNodes, "a log has 1 to %d nodes here, not %d", mostNodes, c.Nodes)
	f.Add(c.Members < 1 || c.Members > min(c.Nodes, 9), "%d members of %d nodes: 1 to 9", c.Members, c.Nodes)
	f.Add(c.Clients < 1 || c.Clients > 50, "%d clients: 1 to 50", c.Clients)
	f.Add(c.Loss < 0 || c.Loss > 50, "a loss of %d %%: 0 to 50", c.Loss)
	_, is := c.machine()
	f.Add(!is, "there is no machine %q: there is %s", c.Machine, c.machineNames())
	f.Add(c.Faults < time.Second, "faults for %s show nothing: 1s at least", c.Faults)
	return f.All()
}
