//go:build unix

package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
)

// Config describes a demo.
type Config struct {
	Nodes     int
	Kinds     []node.Kind // services whose tables are created
	Duration  time.Duration
	KillEvery time.Duration // 0: nobody is killed
	Lease     time.Duration
	// Listen is the address of the HTTP API while the demo runs; empty: none.
	Listen string
	// Devnode is the program of the private chain; empty: no transactions are sent.
	Devnode string
	// Program is the binary that runs a node as its subcommand NodeCommand.
	Program string
	Screen  screen.Config // gets the live view
}

// NodeCommand is the hidden subcommand that runs one node.
const NodeCommand = "demo-node"

// Scope is the scope that the nodes compete for.
const Scope = "demo"

// Validate returns all faults of the configuration.
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
