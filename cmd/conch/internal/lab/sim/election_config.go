package sim

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

// Config describes one run of an election. Equal configurations give equal reports.
type Config struct {
	Nodes  int // default 3, or 1 if the broken rule shows soonest there
	Scopes int // default 1, or as many as the broken rule needs
	Steps  int // events before the faults end; default 1500
	Seed   uint64
	// Takeover is the takeover of all nodes, or TakeoverMixed. Default Strict, or
	// TakeoverMixed if the broken rule needs it.
	Takeover election.Takeover
	// Locks says how sessions keep their scopes: LocksSession, LocksProcess, or LocksMixed,
	// where each process draws one. Default LocksSession, or what the broken rule needs.
	Locks string
	// Break names one of [Rules] to leave out.
	Break string
	// UnequalLeases draws a lease for each node and scope. A broken rule that needs it sets it.
	UnequalLeases bool
	// Trace receives a line for everything that happens. It does not change the run.
	Trace io.Writer

	lease time.Duration // of a story; else baseLease
	told  *story.Text   // the story that the run plays; else nil
	story io.Writer     // gets a line for what a reader of the story wants to know
}

// TakeoverMixed is a value of Config.Takeover: each process draws strict or fast, as while an
// operator changes one into the other. A candidate that differs from the row is refused until
// a release. All may differ, so liveness is not required. A failover loses nothing, since it
// could lose the takeover in the row.
const TakeoverMixed = "mixed"

// The values of Config.Locks.
const (
	LocksSession = string(electiontest.SessionLocks)
	LocksProcess = string(electiontest.ProcessLocks)
	LocksMixed   = "mixed"
)

// WithDefaults fills in the fields that are zero, preferably with what the broken rule needs.
func (c Config) WithDefaults() Config {
	r := findRule(c.Break)
	if r == nil || c.told != nil { // a story says what world it is
		r = &rule{}
	}
	if r.oneNode {
		c.Nodes = cmp.Or(c.Nodes, 1)
	}
	if r.mixedTakeovers {
		c.Takeover = cmp.Or(c.Takeover, TakeoverMixed)
	}
	c.UnequalLeases = c.UnequalLeases || r.unequalLeases
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Scopes = cmp.Or(c.Scopes, r.scopes, 1)
	c.Steps = cmp.Or(c.Steps, 1500)
	c.Takeover = cmp.Or(c.Takeover, election.Strict)
	c.Locks = cmp.Or(c.Locks, r.Locks, LocksSession)
	c.lease = cmp.Or(c.lease, baseLease)
	return c
}

// Validate returns an error for a configuration that cannot be run.
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
		return fmt.Errorf("sim: %d steps; 0 or more are possible", c.Steps)
	case c.Break != "" && findRule(c.Break) == nil:
		var names []string
		for _, r := range rules {
			names = append(names, r.Name)
		}
		return fmt.Errorf("sim: no rule %q to break; there are %s", c.Break, strings.Join(names, ", "))
	}
	if needs := c.needs(); needs != "" {
		return fmt.Errorf("sim: without the rule %s, such worlds violate no invariant: it needs %s", c.Break, needs)
	}
	return nil
}

// needs returns the flag without which the broken rule cannot show; empty if it can.
func (c Config) needs() string {
	r := findRule(c.Break)
	switch {
	case r == nil || r.Invariant == "" || c.told != nil:
		return ""
	case r.Locks != "" && c.Locks != r.Locks && c.Locks != LocksMixed:
		return "--locks " + r.Locks
	case c.Scopes < r.scopes:
		return fmt.Sprintf("--scopes %d", r.scopes)
	case r.mixedTakeovers && c.Takeover != TakeoverMixed:
		return "--takeover " + TakeoverMixed
	case c.Takeover == election.Fast && r.Invariant == ActDoors, c.Takeover == TakeoverMixed && r.oneTakeover:
		return "--takeover " + string(election.Strict)
	}
	return ""
}

// replay returns the command that repeats the run.
func (c Config) replay() string {
	if c.told != nil {
		return c.told.Replay("election", c.Seed, c.Break)
	}
	s := fmt.Sprintf("conch-lab sim election --nodes %d --seed %d --takeover %s --scopes %d --steps %d",
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
