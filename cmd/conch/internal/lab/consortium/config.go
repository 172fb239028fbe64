//go:build unix

package consortium

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/faults"
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
	if c.Chaos != nil {
		return c.Chaos.validate(c.Duration)
	}
	var f faults.List
	f.Add(c.Duration <= 0, "--duration must be positive")
	f.Join(stage.Pace(c.KillEvery, minKillEvery, c.Duration, "fault", "harms nobody"))
	return f.All()
}

func (c Chaos) validate(duration time.Duration) error {
	var f faults.List
	f.Add(c.Faults < 1, "--faults %d is not 1 or more", c.Faults)
	f.Add(c.Intents < 0, "--intents %d is not 0 or more", c.Intents)
	f.Add(duration < 0, "--duration must not be negative; 0 is as long as it takes")
	return f.All()
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
