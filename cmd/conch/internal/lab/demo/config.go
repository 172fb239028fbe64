//go:build unix

package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
)

// Config says how long to work and how often to kill.
type Config struct {
	Nodes     int
	Kinds     []node.Kind // of the services, whose tables are made
	Duration  time.Duration
	KillEvery time.Duration // 0: nobody is killed
	Lease     time.Duration
	// Listen is where the HTTP API can be read while the demo runs; empty: nowhere.
	Listen string
	// Devnode is the program of the private chain; empty: no transactions are sent.
	Devnode string
	// Program is the binary to start nodes from, with NodeCommand as its argument.
	Program string
	// Progress gets the live view or, when it is no terminal, plain lines.
	Progress io.Writer
	Terminal bool
	// Width of the terminal now: a line that wraps would spoil the redraw.
	Width func() int
}

// NodeCommand is the hidden subcommand that runs one node.
const NodeCommand = "demo-node"

// Scope is what the nodes compete for.
const Scope = "demo"

// Validate lists every fault.
func (c Config) Validate() error {
	var faults []error
	if c.Nodes < 1 || c.Nodes > 50 {
		faults = append(faults, fmt.Errorf("--nodes %d is not between 1 and 50", c.Nodes))
	}
	if c.Lease < election.MinLease || c.Lease > election.MaxLease {
		faults = append(faults, fmt.Errorf("--lease %s is not between %s and %s", c.Lease, election.MinLease, election.MaxLease))
	}
	if c.Duration <= 0 {
		faults = append(faults, errors.New("--duration must be positive"))
	}
	switch {
	case c.KillEvery < 0:
		faults = append(faults, errors.New("--kill-every must not be negative; 0 kills nobody"))
	case c.KillEvery > 0 && c.KillEvery >= c.Duration:
		faults = append(faults, fmt.Errorf("--kill-every %s leaves no time for a kill within --duration %s; 0 kills nobody", c.KillEvery, c.Duration))
	case c.KillEvery > 0 && c.KillEvery < minKillEvery:
		faults = append(faults, fmt.Errorf("--kill-every %s is shorter than %s, which a killed node needs to come back", c.KillEvery, minKillEvery))
	}
	return errors.Join(faults...)
}

const (
	restartAfter = time.Second
	minKillEvery = time.Second
)
