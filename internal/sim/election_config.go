package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

// Config describes one run of an election. Equal configurations give equal
// reports.
type Config struct {
	Nodes  int // default 3
	Scopes int // default 1
	Steps  int // events with faults among them; the quiet end is not counted. Default 1500
	Seed   uint64
	// Takeover is that of all nodes, or TakeoverMixed. Default Strict.
	Takeover election.Takeover
	// Locks says how the nodes' sessions keep what they win: LocksSession,
	// LocksProcess, or LocksMixed, where each process draws its own. Default: those
	// among which the broken rule shows, else LocksSession.
	Locks string
	// Break names one of [Rules], to see what it is for.
	Break string
	// UnequalLeases gives every node a lease of its own for each scope.
	UnequalLeases bool
	// Trace gets a line for everything that happens. It changes nothing.
	Trace io.Writer
}

// TakeoverMixed is a value of Config.Takeover: each process draws strict or fast, as while
// an operator changes the one into the other. Whoever differs from the row is refused until
// a release, and nobody may be left who does not: liveness is not asked for. Nor does a
// failover forget anything, since it would forget which takeover there was.
const TakeoverMixed = "mixed"

// The values of Config.Locks.
const (
	LocksSession = string(electiontest.SessionLocks)
	LocksProcess = string(electiontest.ProcessLocks)
	LocksMixed   = "mixed"
)

func (c Config) withDefaults() Config {
	if c.Nodes == 0 {
		c.Nodes = 3
	}
	if c.Scopes == 0 {
		c.Scopes = 1
	}
	if c.Steps == 0 {
		c.Steps = 1500
	}
	if c.Takeover == "" {
		c.Takeover = election.Strict
	}
	if r := findRule(c.Break); c.Locks == "" && r != nil {
		c.Locks = r.Locks // where it shows
	}
	if c.Locks == "" {
		c.Locks = LocksSession
	}
	return c
}

// Validate says what is wrong with a configuration, if anything.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch c.Takeover {
	case election.Strict, election.Fast, election.Keep, TakeoverMixed:
	default:
		return fmt.Errorf("sim: takeover %q is none of strict, fast, keep, mixed", c.Takeover)
	}
	switch c.Locks {
	case LocksSession, LocksProcess, LocksMixed:
	default:
		return fmt.Errorf("sim: locks %q are none of session, process, mixed", c.Locks)
	}
	switch {
	case c.Nodes < 1 || c.Nodes > 50:
		return fmt.Errorf("sim: %d nodes; 1 to 50 are possible", c.Nodes)
	case c.Scopes < 1 || c.Scopes > 20:
		return fmt.Errorf("sim: %d scopes; 1 to 20 are possible", c.Scopes)
	case c.Steps < 0:
		return fmt.Errorf("sim: %d steps", c.Steps)
	case c.Break != "" && findRule(c.Break) == nil:
		var names []string
		for _, r := range rules {
			names = append(names, r.Name)
		}
		return fmt.Errorf("sim: no rule %q to break; there are %s", c.Break, strings.Join(names, ", "))
	}
	return nil
}

// replay is the command that repeats the run.
func (c Config) replay() string {
	s := fmt.Sprintf("conch sim election --nodes %d --seed %d --takeover %s --scopes %d --steps %d",
		c.Nodes, c.Seed, c.Takeover, c.Scopes, c.Steps)
	if c.Locks != LocksSession {
		s += " --locks " + c.Locks
	}
	if c.UnequalLeases {
		s += " --unequal-leases"
	}
	if c.Break != "" {
		s += " --break " + c.Break
	}
	return s
}
