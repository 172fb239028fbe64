//go:build unix

package swarm

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"
)

// Config describes a demo.
type Config struct {
	Nodes    int
	Duration time.Duration // from the first agreement on; each strike comes at least once
	Seed     uint64        // of the choice of nodes that are struck
	// Program is the binary that runs a node: "conch node".
	Program string
	// Progress gets the live view, or plain lines if it is not a terminal.
	Progress io.Writer
	Terminal bool
	Width    func() int
}

// DefaultNodes is 200, or fewer if the machine has few processors: a node at rest takes about a hundredth of one.
func DefaultNodes() int { return min(mostDefault, perProcessor*runtime.NumCPU()) }

const (
	mostDefault  = 200
	perProcessor = 40

	leastNodes = 10
	mostNodes  = 1000
)

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var faults []error
	if c.Nodes < leastNodes || c.Nodes > mostNodes {
		faults = append(faults, fmt.Errorf("--nodes %d is not between %d, of which %d are electors, and %d", c.Nodes, leastNodes, electors, mostNodes))
	}
	if c.Duration <= 0 {
		faults = append(faults, errors.New("--duration must be positive"))
	}
	return errors.Join(faults...)
}

// What the nodes are told.
const (
	namespace = "default"
	electors  = 7
	contacts  = 3 // by which all join
	diameter  = 4
	round     = 100 * time.Millisecond
	crowd     = 10 // rounds between two words of the leader for those that are no electors
)

// full is how many nodes a small machine serves at the full pace. Each piece of news, and each commit of the log, is told to all.
const full = 80

// paced returns a pause that gives a larger site as much to hear in a while as one of full nodes.
func (c Config) paced(pause time.Duration) time.Duration {
	return pause * time.Duration(max(c.Nodes, full)) / full
}

const (
	step         = 20 * time.Millisecond
	refresh      = 200 * time.Millisecond
	newsEvery    = 500 * time.Millisecond
	restartAfter = time.Second
	breath       = time.Second      // between two strikes
	settle       = 5 * time.Second  // see Timing
	warmup       = 2 * time.Minute  // for all processes to start and to agree
	atOnce       = 8                // processes that start and do not answer yet
	patience     = 45 * time.Second // for all to agree after a strike: lost peers are tried one by one, each ten seconds
	teardown     = 10 * time.Second
	census       = 5 * time.Second // in which the view asks each node once who its neighbours are
)

func timingOf() Timing {
	validity := 2 * diameter * round
	return Timing{Round: round, Validity: validity, Believed: crowd * validity, Settle: settle}
}
