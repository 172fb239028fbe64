package config

import (
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// Config is a node as its file, its environment and its command line describe it.
type Config struct {
	Node     Node
	Database pgmint.Config
	// Named tells whether anybody said which database. A node without one does
	// not start, unless it is standalone by its word.
	Named bool
	// Election is [election] and the environment (requirement S27), without a mint
	// and without roles; see Elector.
	Election election.Config
	Roles    []Role
	Chains   []Chain
	Accounts []Account // each of them is a role, too
	Files    []Files   // and so is each of these
	places   places
}

// Node is [node].
type Node struct {
	Listen        string // of the API; "off" for none
	OpsListen     string // of /healthz /readyz /metrics; empty: none
	TokenFile     string // who may do everything
	ReadTokenFile string // who may look
	TLSCert       string
	TLSKey        string
	DataDir       string        // of conch.pid; empty: none is written
	AnswerMax     time.Duration // see Config.AnswerMax; 0: as long as by default
	Standalone    bool          // one copy, no database, every gate open (S18)
}

// Off is a listen address that means none.
const Off = "off"

// DefaultListen is where the API of a node listens unless told otherwise.
const DefaultListen = "127.0.0.1:7070"

// Role is one [[roles]]: at most one of Command, HTTP and Builtin is set; with
// none, only the gate is kept, for others to ask.
type Role struct {
	Name    string
	Scope   string
	Command []string // runs while leading
	HTTP    string   // POST …/start when leading begins, …/stop when it ends
	Builtin string   // BuiltinLog
	Fenced  bool     // starts behind the fenced door instead of the act door
	Account *Account // it sends this account's transactions, and does nothing else
	Files   *Files   // it pushes these to followers, and does nothing else

	Preferred    []string
	Never        []string
	StallAfter   time.Duration
	DrainTimeout time.Duration

	Lease         time.Duration // 0 in any of these: as [election] says
	Heartbeat     time.Duration
	LateThreshold time.Duration
	CheckInterval time.Duration
	LockTimeout   time.Duration
	Takeover      election.Takeover
}

// Grace is how long before its deadline the command of a settled role is asked to end.
func (r Role) Grace() (time.Duration, error) {
	e := Config{}.Elector(r)
	return keeper.Grace(0, or(r.Lease, defaultLease), e.Spare(e.Roles[0]))
}

// defaultLease is the elector's.
const defaultLease = 3 * time.Second

// BuiltinLog is the role that writes a line now and then: for trials.
const BuiltinLog = "log"

// Terms are what all roles of one elector have in common. Roles with equal terms
// share an elector, and with it a session of the database.
type Terms struct {
	Takeover                                            election.Takeover
	Heartbeat, CheckInterval, LockTimeout, DrainTimeout time.Duration
}

// Terms of a role that is settled.
func (r Role) Terms() Terms {
	return Terms{
		Takeover: r.Takeover, Heartbeat: r.Heartbeat, CheckInterval: r.CheckInterval,
		LockTimeout: r.LockTimeout, DrainTimeout: r.DrainTimeout,
	}
}

// Settled are the roles with what they leave to [election] filled in: two that are
// equal need nothing done when the file is read again.
func (c Config) Settled() []Role {
	roles := make([]Role, 0, len(c.Roles)+len(c.Accounts)+len(c.Files))
	e := c.Election
	for _, r := range c.all() {
		r.Lease, r.LateThreshold = or(r.Lease, e.Lease), or(r.LateThreshold, e.LateThreshold)
		r.Heartbeat, r.CheckInterval = or(r.Heartbeat, e.Heartbeat), or(r.CheckInterval, e.CheckInterval)
		r.Takeover, r.DrainTimeout = or(r.Takeover, e.Takeover), or(r.DrainTimeout, defaultDrain)
		r.LockTimeout = or(r.LockTimeout, e.LockTimeout)
		roles = append(roles, r)
	}
	return roles
}

// all are the roles, and after them those that the accounts and the files are. What an
// account's role sends is refused by the chain and the database when stale, and what one
// of files pushes by each follower, which has promised to hear no earlier epoch: neither
// needs a clock, so both stand behind the fenced door.
func (c Config) all() []Role {
	roles := slices.Clone(c.Roles)
	for _, a := range c.Accounts {
		roles = append(roles, Role{Name: a.Name, Scope: a.Scope, Fenced: true, Account: &a})
	}
	for _, f := range c.Files {
		roles = append(roles, Role{Name: f.Scope, Scope: f.Scope, Fenced: true, Files: &f})
	}
	return roles
}

// defaultDrain is how long a role may take to end when it is asked to (F6).
const defaultDrain = 10 * time.Second

// Elector describes the elector of settled roles that have equal terms: everything
// but its mint, its events and what the roles do.
func (c Config) Elector(roles ...Role) election.Config {
	e := c.Election
	for _, r := range roles {
		t := r.Terms()
		e.Takeover, e.Heartbeat, e.CheckInterval, e.DrainTimeout = t.Takeover, t.Heartbeat, t.CheckInterval, t.DrainTimeout
		e.LockTimeout = t.LockTimeout
		e.Roles = append(e.Roles, election.Role{
			Scope: r.Scope, Lease: r.Lease, LateThreshold: r.LateThreshold,
			Preferred: r.Preferred, Never: r.Never, StallAfter: r.StallAfter,
		})
	}
	return e
}

// Scopes lists what the roles are about.
func (c Config) Scopes() []string {
	scopes := make([]string, 0, len(c.Roles)+len(c.Accounts)+len(c.Files))
	for _, r := range c.all() {
		scopes = append(scopes, r.Scope)
	}
	return scopes
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
