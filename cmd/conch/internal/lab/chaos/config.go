//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/faults"
)

// Config describes a run.
type Config struct {
	Program  string // of the workers
	Conch    string // the program under test
	Faults   int
	Seed     uint64
	Nodes    int
	Lease    time.Duration
	Takeover mint.Takeover
	Duration time.Duration // no fault begins later; 0: no limit
	Kinds    []Kind        // empty: all
	Viewers  int           // of the machines' pages; 0: no machine serves one
	// KeepGoing continues the run if something does not recover.
	KeepGoing bool
	Screen    screen.Config // gets a line for each fault

	script       []Fault       // replaces the plan in tests
	testPatience time.Duration // replaces patience in tests
}

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var f faults.List
	f.Add(c.Faults < 1, "--faults %d is not 1 or more", c.Faults)
	f.Add(c.Nodes < 2 || c.Nodes > 20, "--nodes %d is not between 2 and 20", c.Nodes)
	const least = 500 * time.Millisecond
	f.Add(c.Lease < least || c.Lease > election.MaxLease, "--lease %s is not between %s and %s", c.Lease, least, election.MaxLease)
	f.Add(c.Viewers < 0 || c.Viewers > 200, "--viewers %d is not between 0 and 200", c.Viewers)
	f.Add(c.Duration < 0, "--duration must not be negative; 0 is as long as it takes")
	f.Add(!slices.Contains([]mint.Takeover{mint.Strict, mint.Fast, mint.Keep}, c.Takeover), "--takeover %q is none of strict, fast, keep", c.Takeover)
	for _, k := range c.Kinds {
		_, known := traitOf(k)
		f.Add(!known, "--only %q is none of %v", k, Kinds())
	}
	return f.All()
}

// replay returns the command that repeats the plan.
func (c Config) replay() string {
	words := []string{fmt.Sprintf("conch-lab chaos --faults %d --seed %d --nodes %d --lease %s", c.Faults, c.Seed, c.Nodes, c.Lease)}
	if c.Takeover != mint.Strict {
		words = append(words, "--takeover", string(c.Takeover))
	}
	if c.Viewers > 0 {
		words = append(words, fmt.Sprintf("--viewers %d", c.Viewers))
	}
	for _, k := range c.Kinds {
		words = append(words, "--only", string(k))
	}
	return strings.Join(words, " ")
}

// patience bounds the recovery after the last fault has healed, and the end of a process. It is
// meant for busy machines: nothing in conch takes that long.
func (c Config) patience() time.Duration {
	if c.testPatience > 0 {
		return c.testPatience
	}
	return 30*time.Second + 10*c.Lease
}

// warmup bounds the start of all workloads.
const warmup = time.Minute
