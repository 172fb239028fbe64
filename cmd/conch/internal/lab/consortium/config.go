//go:build unix

package consortium

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Config describes a run.
type Config struct {
	Kinds     []node.Kind // services whose tables are created
	Duration  time.Duration
	KillEvery time.Duration // from one fault to the next; 0: no faults
	// Chaos has other faults than the demo, and an attacker, and lasts as long as its plan.
	Chaos *Chaos
	// Listen is the address of the first organisation's API; empty: none is to be seen.
	Listen string
	// Logs is a folder that gets the nodes' logs; empty: they are dropped.
	Logs string
	// Devnode is the program of the private chain, Program that of the nodes.
	Devnode, Program string
	Screen           screen.Config // gets the live view
}

// Chaos is a plan of faults.
type Chaos struct {
	Seed    uint64
	Faults  int
	Intents int // that are asked for at least
}

// minKillEvery leaves a killed node the time to come back.
const minKillEvery = 2 * time.Second

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var faults []error
	if c.Chaos != nil {
		return c.Chaos.validate(c.Duration)
	}
	if c.Duration <= 0 {
		faults = append(faults, errors.New("--duration must be positive"))
	}
	switch {
	case c.KillEvery < 0:
		faults = append(faults, errors.New("--kill-every must not be negative; 0 harms nobody"))
	case c.KillEvery > 0 && c.KillEvery >= c.Duration:
		faults = append(faults, fmt.Errorf("--kill-every %s leaves no time for a fault within --duration %s; 0 harms nobody", c.KillEvery, c.Duration))
	case c.KillEvery > 0 && c.KillEvery < minKillEvery:
		faults = append(faults, fmt.Errorf("--kill-every %s is shorter than %s, which a killed node needs to come back", c.KillEvery, minKillEvery))
	}
	return errors.Join(faults...)
}

func (c Chaos) validate(duration time.Duration) error {
	var faults []error
	if c.Faults < 1 {
		faults = append(faults, fmt.Errorf("--faults %d is not 1 or more", c.Faults))
	}
	if c.Intents < 0 {
		faults = append(faults, fmt.Errorf("--intents %d is not 0 or more", c.Intents))
	}
	if duration < 0 {
		faults = append(faults, errors.New("--duration must not be negative; 0 is as long as it takes"))
	}
	return errors.Join(faults...)
}

// Replay returns the command that repeats the plan.
func (c Config) Replay() string {
	line := fmt.Sprintf("conch-lab chaos --sequencer --faults %d --seed %d", c.Chaos.Faults, c.Chaos.Seed)
	if c.Chaos.Intents > 0 {
		line += fmt.Sprintf(" --intents %d", c.Chaos.Intents)
	}
	if c.Duration > 0 {
		line += fmt.Sprintf(" --duration %s", c.Duration)
	}
	return line
}

// terms are what the members of a contract agree on, besides who they are.
type terms struct {
	committee               []string // empty: all
	needed, rangeSize, life int
	depth                   int // 0: as conch contract deploy has it
}

func (c Config) terms() terms {
	t := terms{needed: needed, rangeSize: rangeSize, life: life}
	if c.Chaos != nil {
		t.rangeSize, t.depth = chaosRange, chaosDepth
	}
	return t
}

// members are the names of the organisations. The first one deploys the contract and issues the notes.
var members = []string{"bank", "north", "east", "south", "west"}

const (
	needed    = 3 // endorsements: the larger side of a partition can go on
	rangeSize = 40
	life      = 50
	blockTime = "250ms"

	// In chaos there is more to see with short ranges, and reorganisations go deeper.
	chaosRange = 20
	chaosDepth = 3

	restartAfter = time.Second
	step         = 20 * time.Millisecond
	refresh      = 200 * time.Millisecond
	patience     = time.Minute     // for what is done to a server or a database
	warmup       = 2 * time.Minute // for whatever has to happen before the first fault; seconds on an idle machine
	settleMost   = 3 * time.Minute // for every intent to end after the last fault
	teardown     = 10 * time.Second
)
