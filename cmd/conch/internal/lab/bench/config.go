//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
)

// Config says what to measure with.
type Config struct {
	// Program is the binary to start nodes and holders from.
	Program string
	// Devnode is the binary of the chain's node, for the bench that sends to one.
	Devnode string
	// Database is the URL of the server to measure on; empty: a private one.
	Database string
	Lease    time.Duration // default 3 s
	Quick    bool          // a few samples of each, to see that it runs
	// Say gets one line of progress at a time.
	Say func(format string, args ...any)
}

// Hidden subcommands of the binary.
const (
	NodeCommand   = "demo-node"
	HolderCommand = "bench-holder"
)

// scope is what nodes compete for.
const scope = "bench"

// amounts is how much of everything.
type amounts struct {
	kills, handoffs, stalls int
	rounds                  int           // of the fence's pairs
	slice                   time.Duration // of each half of a pair
	loop                    time.Duration // of one timing of the gate
	rest                    time.Duration // of counting statements
	intents, sendings       int           // of one run of an account, and runs
	singles, failovers      int           // intents at rest, and kills of the leading node
	finished                int           // transactions of a long history
	scopes                  []int
}

func (c Config) amounts() amounts {
	if c.Quick {
		return amounts{
			kills: 2, handoffs: 2, stalls: 1, rounds: 2,
			slice: 200 * time.Millisecond, loop: 10 * time.Millisecond, rest: c.Lease, scopes: []int{1, 100},
			intents: 3000, sendings: 2, singles: 10, failovers: 1, finished: 20_000,
		}
	}
	return amounts{
		kills: 200, handoffs: 200, stalls: 5, rounds: 8,
		slice: 2 * time.Second, loop: 300 * time.Millisecond, rest: 10 * c.Lease, scopes: []int{1, 100, 1000, 10000},
		intents: 20_000, sendings: 4, singles: 200, failovers: 10, finished: 1_000_000,
	}
}

// Validate lists every fault.
func (c Config) Validate() error {
	if c.Lease < election.MinLease || c.Lease > time.Minute {
		return fmt.Errorf("--lease %s is not between %s and %s", c.Lease, election.MinLease, time.Minute)
	}
	return nil
}

var benches = map[string]func(context.Context, Config) (Report, error){
	"gate": gate, "fence": fenced, "election": elected, "pending": pending,
}

// order is that of a run of all: what needs least comes first.
var order = []string{"gate", "fence", "election", "pending"}

// Names of what can be measured.
func Names() []string { return slices.Clone(order) }

// Run measures one of Names.
func Run(ctx context.Context, name string, cfg Config) (Report, error) {
	r, err := benches[name](ctx, cfg)
	r.Name = name
	return r, err
}
