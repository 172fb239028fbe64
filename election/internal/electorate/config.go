package electorate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/world"
)

// Config describes one run of an election. Equal configurations give equal reports.
type Config struct {
	Nodes  int // default 3, or 1 if the broken rule shows soonest there
	Scopes int // default 1, or as many as the broken rule needs
	Steps  int // events before the faults end; default 1500
	Seed   uint64
	// Takeover is the takeover of all nodes, or TakeoverMixed. Default Strict, or
	// TakeoverMixed if the broken rule needs it.
	Takeover mint.Takeover
	// Locks says how sessions keep their scopes: LocksSession, LocksProcess, or LocksMixed,
	// where each process draws one. Default LocksSession, or what the broken rule needs.
	Locks string
	// Break names a rule to leave out.
	Break string
	// UnequalLeases draws a lease for each node and scope. A broken rule that needs it sets it.
	UnequalLeases bool
	// Trace receives a line for everything that happens. It does not change the run.
	Trace   io.Writer
	Telling world.Telling // the story that the run plays

	lease time.Duration // of a story; else baseLease
}

// TakeoverMixed is a value of Config.Takeover: each process draws strict or fast, as while an
// operator changes one into the other. A candidate that differs from the row is refused until
// a release. All may differ, so liveness is not required. A failover loses nothing, since it
// could lose the takeover in the row.
const TakeoverMixed = "mixed"

// The values of Config.Locks.
const (
	LocksSession = string(store.SessionLocks)
	LocksProcess = string(store.ProcessLocks)
	LocksMixed   = "mixed"
)

// WithDefaults fills in the fields that are zero, preferably with what the broken rule needs.
func (c Config) WithDefaults() Config {
	c.lease = cmp.Or(c.lease, baseLease)
	return Simulator().Fill(c, Config{Nodes: 3, Scopes: 1, Steps: 1500, Takeover: mint.Strict, Locks: LocksSession})
}

// Validate returns every fault.
func (c Config) Validate() error {
	c = c.WithDefaults()
	f := Simulator().Unknown(c)
	takeovers := []mint.Takeover{mint.Strict, mint.Fast, mint.Keep, TakeoverMixed}
	f.Add(!slices.Contains(takeovers, c.Takeover), "takeover %q is none of strict, fast, keep, mixed", c.Takeover)
	f.Add(!slices.Contains([]string{LocksSession, LocksProcess, LocksMixed}, c.Locks), "locks %q are none of session, process, mixed", c.Locks)
	f.Add(c.Nodes < 1 || c.Nodes > 50, "%d nodes; 1 to 50 are possible", c.Nodes)
	f.Add(c.Scopes < 1 || c.Scopes > 20, "%d scopes; 1 to 20 are possible", c.Scopes)
	f.Add(c.Steps < 0, "%d steps; 0 or more are possible", c.Steps)
	needs := c.needs()
	f.Add(f.All() == nil && needs != "", "without the rule %s, such worlds violate no invariant: it needs %s", c.Break, needs)
	return f.All()
}

// needs returns the flag without which the broken rule cannot show; empty if it can. A rule that names one takeover does not show in
// a mixed world, where a failover forgets nothing and liveness is not required.
func (c Config) needs() string {
	r := Simulator().Rule(c.Break)
	switch {
	case r == nil || r.Invariant == "" || c.Telling.On():
		return ""
	case r.In.Locks != "" && c.Locks != r.In.Locks && c.Locks != LocksMixed:
		return "--locks " + r.In.Locks
	case c.Scopes < r.In.Scopes:
		return fmt.Sprintf("--scopes %d", r.In.Scopes)
	case r.In.Takeover == TakeoverMixed && c.Takeover != TakeoverMixed:
		return "--takeover " + TakeoverMixed
	case c.Takeover == mint.Fast && r.Invariant == ActDoors, c.Takeover == TakeoverMixed && r.In.Takeover == mint.Strict:
		return "--takeover " + string(mint.Strict)
	}
	return ""
}
