//go:build unix

package swarm

import (
	"math"
	"runtime"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/internal/faults"
)

// Config describes a demo.
type Config struct {
	Nodes    int
	Duration time.Duration // from the first agreement on; each strike comes at least once
	Seed     uint64        // of the choice of nodes that are struck
	// Program is the binary that runs a node: "conch node".
	Program string
	Screen  screen.Config // gets the live view
}

// DefaultNodes is 200, or half of that if the machine has one processor: a node at rest takes half a hundredth of one.
func DefaultNodes() int { return min(200, 100*runtime.NumCPU()) }

const (
	perProcessor = 40 // nodes that are served at the full pace

	leastNodes = 10
	mostNodes  = 1000
)

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var f faults.List
	f.Add(c.Nodes < leastNodes || c.Nodes > mostNodes, "--nodes %d is not between %d, of which %d are electors, and %d", c.Nodes, leastNodes, electors, mostNodes)
	f.Add(c.Duration <= 0, "--duration must be positive")
	return f.All()
}

// What the nodes are told.
const (
	namespace  = "default"
	quickRound = 100 * time.Millisecond // the default of [gossip]
	slowRound  = 500 * time.Millisecond // the longest one

	electors = 7
	contacts = 3 // by which all join
	diameter = 4
	crowd    = 10 // quick rounds between two words of the leader for those that are no electors, whatever a round is
)

// crowding is how many times more nodes there are than the processors serve at the full pace, 1 at least.
func (c Config) crowding(processors int) float64 {
	return max(1, float64(c.Nodes)/float64(perProcessor*processors))
}

// paced returns a pause between two things that are told to all: each head of the log, each piece of news. To tell one costs each node some
// five milliseconds of a processor, beside the half of a hundredth that it takes at rest. So where twice as many nodes share a processor, four
// times less is told; but never so little that nothing is shown.
func (c Config) paced(pause time.Duration, processors int) time.Duration {
	const rarest = 15
	full := float64(perProcessor*processors) / 2
	over := float64(c.Nodes) / full
	return time.Duration(float64(pause) * min(rarest, max(1, over*over)))
}

// round returns the electors' round. On a crowded machine it is longer, so that their leader may be silent for longer.
func (c Config) round(processors int) time.Duration {
	return min(time.Duration(math.Ceil(c.crowding(processors)))*quickRound, slowRound)
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

func (c Config) timing() Timing {
	round := c.round(runtime.NumCPU())
	return Timing{Round: round, Validity: 2 * diameter * round, Believed: 2 * diameter * crowd * quickRound, Relays: diameter, Settle: settle}
}
