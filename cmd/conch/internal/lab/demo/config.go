//go:build unix

package demo

import (
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/faults"
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
	Version string // of conch, as the page has it
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
	var f faults.List
	f.Add(c.Nodes < 1 || c.Nodes > 50, "--nodes %d is not between 1 and 50", c.Nodes)
	f.Add(c.Lease < election.MinLease || c.Lease > election.MaxLease, "--lease %s is not between %s and %s", c.Lease, election.MinLease, election.MaxLease)
	f.Add(c.Duration <= 0, "--duration must be positive")
	f.Join(stage.Pace(c.KillEvery, minKillEvery, c.Duration, "kill", "kills nobody"))
	return f.All()
}

const (
	restartAfter = time.Second
	minKillEvery = time.Second
)
