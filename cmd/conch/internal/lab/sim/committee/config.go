package committee

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/sequencer/ranking"
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

	told   *story.Text // the story that the run plays; else nil
	strict bool        // in it heights are judged as document 002 has it
}

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
		c.Nodes, c.Needed, c.Faults = cmp.Or(c.Nodes, s.nodes), cmp.Or(c.Needed, s.needed), cmp.Or(c.Faults, s.lasts)
		c.Range = cmp.Or(c.Range, s.blocks)
	}
	c.Nodes = cmp.Or(c.Nodes, 5)
	c.Faults = cmp.Or(c.Faults, time.Minute)
	c.Range = cmp.Or(c.Range, 10)
	c.Intents = cmp.Or(c.Intents, 40)
	c.Needed = cmp.Or(c.Needed, c.Nodes/2+1)
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
	fault(c.Nodes < 1 || c.Nodes > 100, "a committee has 1 to 100 nodes, not %d", c.Nodes)
	fault(c.Faults < 0, "faults for %v", c.Faults)
	fault(c.Range < 4, "a range of %d blocks: name 4 at least, since a switch takes that long", c.Range)
	fault(c.Intents < 1, "%d intents prove nothing", c.Intents)
	fault(c.Needed < 1 || c.Needed > c.Nodes, "%d endorsements of %d members", c.Needed, c.Nodes)
	fault(c.Scene != "" && findScene(c.Scene) == nil, "there is no scene %q", c.Scene)
	fault(c.Break != "" && findRule(c.Break) == nil, "there is no rule %q", c.Break)
	_, is := ranking.Named(c.Policy)
	fault(!is, "no committee is ranked by %q: it is one of %q", c.Policy, ranking.Names())
	return errors.Join(faults...)
}

// Policies returns the names by which a committee may be ranked, the default first.
func Policies() []string { return ranking.Names() }

// line is the command that repeats the run.
func (r *run) line() string {
	if r.cfg.told != nil {
		return r.cfg.told.Replay("sequencer", r.cfg.Seed, r.cfg.Break)
	}
	line := fmt.Sprintf("conch-lab sim sequencer --nodes %d --seed %d --intents %d --needed %d", r.cfg.Nodes, r.cfg.Seed, r.cfg.Intents, r.cfg.Needed)
	if r.cfg.Faults != time.Minute {
		line += " --faults " + r.cfg.Faults.String()
	}
	if r.cfg.Calm {
		line += " --calm"
	}
	if r.scene != nil {
		line = fmt.Sprintf("conch-lab sim sequencer --scene %s --seed %d", r.scene.Name, r.cfg.Seed)
	} else if r.cfg.Range != 10 {
		line += fmt.Sprint(" --range ", r.cfg.Range)
	}
	if r.cfg.Policy != "" {
		line += " --policy " + r.cfg.Policy
	}
	if r.broken != "" {
		line += " --break " + r.broken
	}
	return line
}
