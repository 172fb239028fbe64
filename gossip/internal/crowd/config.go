package crowd

import (
	"io"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/internal/world"
)

// round is the unit of all figures.
const round = 100 * time.Millisecond

// Config describes a run. Zero fields have defaults.
type Config struct {
	Nodes    int           // 1 to 5,000; default 50
	Electors int           // how many of them may lead; 0: all
	Contacts int           // nodes that all others have in their configuration, to join by; default 3
	Seed     uint64        // equal configurations give equal runs; default 1, or one with which the broken rule has shown
	Policy   string        // hint.Reign or hint.Paper; the first
	Loss     int           // of the messages, in percent
	Stalls   bool          // a message that is lost comes later, and holds up all after it, as on a connection
	Diameter int           // a heartbeat is valid for twice as many rounds; default 4
	Rounds   int           // of the whole run; default what the scene needs
	Scene    string        // a world with one trouble, or empty for one with every fault
	Break    string        // a rule to leave out, or empty
	Trace    io.Writer     // gets every event
	Story    io.Writer     // gets a line for what a reader wants to know, if there are 20 nodes at most
	Telling  world.Telling // the story that the run plays

	Paper hint.PaperConfig // of policy paper; the zero one has the document's defaults
}

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	return Simulator().Fill(c, Config{Nodes: 50, Seed: 1, Policy: hint.Reign, Diameter: 4, Contacts: 3, Rounds: 300})
}

// Validate returns every fault of a configuration with defaults.
func (c Config) Validate() error {
	f := Simulator().Unknown(c)
	f.Add(c.Nodes < 1 || c.Nodes > 5000, "a crowd has 1 to 5,000 nodes, not %d", c.Nodes)
	f.Add(c.Electors < 0 || c.Electors > min(c.Nodes, 64), "%d electors of %d nodes: 0 to %d", c.Electors, c.Nodes, min(c.Nodes, 64))
	f.Add(c.Loss < 0 || c.Loss > 50, "a loss of %d %%: 0 to 50", c.Loss)
	f.Add(c.Contacts < 1, "%d contacts: nobody could join", c.Contacts)
	f.Add(c.Diameter < 2, "a diameter of %d: 2 at least", c.Diameter)
	f.Add(c.Rounds < 20, "%d rounds show nothing: 20 at least", c.Rounds)
	f.Add(c.Policy != hint.Reign && c.Policy != hint.Paper, "there is no policy %q: it is %q or %q", c.Policy, hint.Reign, hint.Paper)
	return f.All()
}
