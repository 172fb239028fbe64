package bulletin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
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
	Scene   string        // a world with one trouble, or empty for one with every fault
	Break   string        // a rule to leave out, or empty
	Trace   io.Writer     // gets every event
	Story   io.Writer     // gets a line for what a reader wants to know

	told *story.Text // the story that the run plays; else nil
}

const mostNodes = 60

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	if r := findRule(c.Break); r != nil && c.told == nil { // a story says what world it is
		c.Scene = cmp.Or(c.Scene, r.scene)
	}
	if c.told == nil {
		c.Seed = cmp.Or(c.Seed, Shows(c.Break))
	}
	c.Seed = max(c.Seed, 1)
	if s := findScene(c.Scene); s != nil {
		c.Nodes, c.Members = cmp.Or(c.Nodes, s.nodes), cmp.Or(c.Members, s.members)
		c.Faults, c.Clients = cmp.Or(c.Faults, s.lasts), cmp.Or(c.Clients, s.clients)
	}
	c.Nodes = cmp.Or(c.Nodes, 7)
	c.Members = cmp.Or(c.Members, min(5, c.Nodes))
	c.Clients = cmp.Or(c.Clients, 4)
	c.Faults = cmp.Or(c.Faults, 40*time.Second)
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
	fault(c.Nodes < 1 || c.Nodes > mostNodes, "a log has 1 to %d nodes here, not %d", mostNodes, c.Nodes)
	fault(c.Members < 1 || c.Members > min(c.Nodes, 9), "%d members of %d nodes: 1 to 9", c.Members, c.Nodes)
	fault(c.Clients < 1 || c.Clients > 50, "%d clients: 1 to 50", c.Clients)
	fault(c.Loss < 0 || c.Loss > 50, "a loss of %d %%: 0 to 50", c.Loss)
	fault(c.Faults < time.Second, "faults for %s show nothing: 1s at least", c.Faults)
	fault(c.Scene != "" && findScene(c.Scene) == nil, "there is no scene %q", c.Scene)
	fault(c.Break != "" && findRule(c.Break) == nil, "there is no rule %q", c.Break)
	return errors.Join(faults...)
}

// line is the command that repeats the run.
func (r *run) line() string {
	if r.cfg.told != nil {
		return r.cfg.told.Replay("log", r.cfg.Seed, r.cfg.Break)
	}
	var line strings.Builder
	c := r.asked
	fmt.Fprintf(&line, "conch-lab sim log --nodes %d --members %d --clients %d --seed %d --faults %s", c.Nodes, c.Members, c.Clients, c.Seed, c.Faults)
	for _, f := range []struct {
		is   bool
		flag string
	}{
		{c.Loss > 0, fmt.Sprint(" --loss ", c.Loss)},
		{c.Stalls, " --stalls"},
		{c.Calm, " --calm"},
		{c.Scene != "", " --scene " + c.Scene},
		{c.Break != "", " --break " + c.Break},
	} {
		if f.is {
			line.WriteString(f.flag)
		}
	}
	return line.String()
}
