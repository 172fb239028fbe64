//go:build unix

package consortium

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Config describes a run.
type Config struct {
	Kinds     []node.Kind // services whose tables are created
	Duration  time.Duration
	KillEvery time.Duration // from one fault to the next; 0: no faults
	// Listen is the address of the first organisation's API; empty: none is to be seen.
	Listen string
	// Logs is a folder that gets the nodes' logs; empty: they are dropped.
	Logs string
	// Devnode is the program of the private chain, Program that of the nodes.
	Devnode, Program string
	// Progress gets the live view, or plain lines if it is not a terminal.
	Progress io.Writer
	Terminal bool
	Width    func() int
}

// minKillEvery leaves a killed node the time to come back.
const minKillEvery = 2 * time.Second

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var faults []error
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

func (c Config) screen() *screen.Screen {
	return screen.New(screen.Config{Out: c.Progress, Terminal: c.Terminal, Width: c.Width})
}

// terms are what the members of a contract agree on, besides who they are.
type terms struct {
	committee               []string // empty: all
	needed, rangeSize, life int
}

// members are the names of the organisations. The first one deploys the contract and issues the notes.
var members = []string{"bank", "north", "east", "south", "west"}

const (
	needed    = 3 // endorsements: the larger side of a partition can go on
	rangeSize = 40
	life      = 50
	blockTime = "250ms"

	restartAfter = time.Second
	step         = 20 * time.Millisecond
	refresh      = 200 * time.Millisecond
	warmup       = 2 * time.Minute // for whatever has to happen before the first fault; seconds on an idle machine
	settleMost   = 3 * time.Minute // for every intent to end after the last fault
	teardown     = 10 * time.Second
)
