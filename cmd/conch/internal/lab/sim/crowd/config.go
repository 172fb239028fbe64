package crowd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/gossip"
)

// round is the unit of all figures.
const round = 100 * time.Millisecond

// Config describes a run. Zero fields have defaults.
type Config struct {
	Nodes    int       // 1 to 5,000; default 50
	Electors int       // how many of them may lead; 0: all
	Contacts int       // nodes that all others have in their configuration, to join by; default 3
	Seed     uint64    // equal configurations give equal runs; default 1, or one with which the broken rule has shown
	Policy   string    // gossip.Reign, gossip.Epoch or gossip.Paper; the first
	Loss     int       // of the messages, in percent
	Stalls   bool      // a message that is lost comes later, and holds up all after it, as on a connection
	Diameter int       // a heartbeat is valid for twice as many rounds; default 4
	Rounds   int       // of the whole run; default what the scene needs
	Scene    string    // a world with one trouble, or empty for one with every fault
	Break    string    // a rule to leave out, or empty
	Trace    io.Writer // gets every event
	Story    io.Writer // gets a line for what a reader wants to know

	Paper gossip.PaperConfig // of policy paper; the zero one has the document's defaults

	told *story.Text // the story that the run plays; else nil
}

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	if r := findRule(c.Break); r != nil && c.told == nil { // a story says what world it is
		c.Scene, c.Electors = cmp.Or(c.Scene, r.scene), cmp.Or(c.Electors, r.electors)
		if c.Loss == 0 && r.loss > 0 {
			c.Loss, c.Stalls = r.loss, true
		}
	}
	if c.told == nil {
		c.Seed = cmp.Or(c.Seed, Shows(c.Break))
	}
	c.Seed = max(c.Seed, 1)
	c.Policy = cmp.Or(c.Policy, gossip.Reign)
	c.Diameter, c.Contacts = cmp.Or(c.Diameter, 4), cmp.Or(c.Contacts, 3)
	if s := findScene(c.Scene); s != nil {
		c.Nodes, c.Rounds, c.Electors = cmp.Or(c.Nodes, s.nodes), cmp.Or(c.Rounds, s.rounds), cmp.Or(c.Electors, s.electors)
	}
	c.Nodes = cmp.Or(c.Nodes, 50)
	c.Rounds = cmp.Or(c.Rounds, 300)
	return c
}

// Validate returns every fault.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, text string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(text, args...))
		}
	}
	fault(c.Nodes < 1 || c.Nodes > 5000, "a crowd has 1 to 5,000 nodes, not %d", c.Nodes)
	fault(c.Electors < 0 || c.Electors > min(c.Nodes, 64), "%d electors of %d nodes: 0 to %d", c.Electors, c.Nodes, min(c.Nodes, 64))
	fault(c.Loss < 0 || c.Loss > 50, "a loss of %d %%: 0 to 50", c.Loss)
	fault(c.Contacts < 1, "%d contacts: nobody could join", c.Contacts)
	fault(c.Diameter < 2, "a diameter of %d: 2 at least", c.Diameter)
	fault(c.Rounds < 20, "%d rounds show nothing: 20 at least", c.Rounds)
	fault(c.Policy != gossip.Reign && c.Policy != gossip.Epoch && c.Policy != gossip.Paper, "there is no policy %q: it is %q or %q", c.Policy, gossip.Reign, gossip.Paper)
	fault(c.Scene != "" && findScene(c.Scene) == nil, "there is no scene %q: it is one of %s", c.Scene, names(scenes, func(s scene) string { return s.Name }))
	fault(c.Break != "" && findRule(c.Break) == nil, "there is no rule %q: it is one of %s", c.Break, names(rules, func(r rule) string { return r.Name }))
	return errors.Join(faults...)
}

func names[T any](all []T, name func(T) string) string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	return strings.Join(out, ", ")
}

// Policies returns the names of the policies, the default first.
func Policies() []string { return []string{gossip.Reign, gossip.Paper} }

// line is the command that repeats the run.
func (r *run) line() string {
	if r.cfg.told != nil {
		return r.cfg.told.Replay("gossip", r.cfg.Seed, r.cfg.Break)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "conch-lab sim gossip --nodes %d --seed %d --rounds %d", r.cfg.Nodes, r.cfg.Seed, r.cfg.Rounds)
	for _, f := range []struct {
		is   bool
		flag string
	}{
		{r.cfg.Electors > 0, fmt.Sprint(" --electors ", r.cfg.Electors)},
		{r.cfg.Contacts != 3, fmt.Sprint(" --contacts ", r.cfg.Contacts)},
		{r.cfg.Loss > 0, fmt.Sprint(" --loss ", r.cfg.Loss)},
		{r.cfg.Stalls, " --stalls"},
		{r.cfg.Diameter != 4, fmt.Sprint(" --diameter ", r.cfg.Diameter)},
		{r.cfg.Policy != gossip.Reign, " --policy " + r.cfg.Policy},
		{r.cfg.Scene != "", " --scene " + r.cfg.Scene},
		{r.cfg.Break != "", " --break " + r.cfg.Break},
	} {
		if f.is {
			line.WriteString(f.flag)
		}
	}
	return line.String()
}
