package sim

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

// Config describes one run of an election. Equal configurations give equal
// reports.
type Config struct {
	Nodes  int // default 3, or 1 where the broken rule shows there
	Scopes int // default 1, or as many as the broken rule needs
	Steps  int // events with faults among them; the quiet end is not counted. Default 1500
	Seed   uint64
	// Takeover is that of all nodes, or TakeoverMixed. Default Strict, or that in which
	// the broken rule shows.
	Takeover election.Takeover
	// Locks says how the nodes' sessions keep what they win: LocksSession,
	// LocksProcess, or LocksMixed, where each process draws its own. Default: those
	// among which the broken rule shows, else LocksSession.
	Locks string
	// Break names one of [Rules], to see what it is for.
	Break string
	// UnequalLeases gives every node a lease of its own for each scope. It is set where
	// the broken rule shows only so.
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

// WithDefaults fills in what is not said: what a rule to break needs, so that it shows,
// before all else.
func (c Config) WithDefaults() Config {
	r := findRule(c.Break)
	if r == nil {
		r = &rule{}
	}
	if r.alone {
		c.Nodes = cmp.Or(c.Nodes, 1)
	}
	if r.mixed {
		c.Takeover = cmp.Or(c.Takeover, TakeoverMixed)
	}
	c.UnequalLeases = c.UnequalLeases || r.unequal
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Scopes = cmp.Or(c.Scopes, r.scopes, 1)
	c.Steps = cmp.Or(c.Steps, 1500)
	c.Takeover = cmp.Or(c.Takeover, election.Strict)
	c.Locks = cmp.Or(c.Locks, r.Locks, LocksSession)
	return c
}

// Validate says what is wrong with a configuration, if anything.
func (c Config) Validate() error {
	c = c.WithDefaults()
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
	if needs := c.needs(); needs != "" {
		return fmt.Errorf("sim: without the rule %s no invariant can fall in such worlds: it needs %s", c.Break, needs)
	}
	return nil
}

// needs is the flag without which a broken rule cannot show; empty if it can.
func (c Config) needs() string {
	r := findRule(c.Break)
	switch {
	case r == nil || r.Invariant == "":
		return ""
	case r.Locks != "" && c.Locks != r.Locks && c.Locks != LocksMixed:
		return "--locks " + r.Locks
	case c.Scopes < r.scopes:
		return fmt.Sprintf("--scopes %d", r.scopes)
	case r.mixed && c.Takeover != TakeoverMixed:
		return "--takeover " + TakeoverMixed
	case c.Takeover == election.Fast && r.Invariant == ActDoors, c.Takeover == TakeoverMixed && r.uniform:
		return "--takeover " + string(election.Strict)
	}
	return ""
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
