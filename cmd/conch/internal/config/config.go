package config

import (
	"fmt"
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
	// Sections are those of the services, each with what it read.
	Sections []Section
	places   places
}

// Section is what one service has in the file. It is made anew for each reading, and
// not changed any more once the file has been read.
type Section interface { //nolint:interfacebloat // the steps of one reading
	// Table names the table of the file each of whose elements is a role: roles for [[roles]].
	Table() string
	// Keys are the tables of the file that are the service's, and how each is read.
	Keys(d *Decoder) map[string]Setter
	// Settle fills in what follows from other keys, once all have been read.
	Settle(d *Decoder)
	// Roles are what this node campaigns for, one for each element of the table.
	Roles() []Role
	// Validate looks for what no key alone shows. Terms and scopes of roles are looked at elsewhere.
	Validate(d *Decoder, c Config)
}

// Of finds the section of a service by its type; it is the zero value, nil, if there is none.
func Of[S Section](c Config) (section S) {
	for _, one := range c.Sections {
		if s, ok := one.(S); ok {
			return s
		}
	}
	return section
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

// Role is one scope that the node campaigns for, and what it does while it leads it.
type Role struct {
	Name    string
	Scope   string
	Section string // whose role it is, by the name of its table; set by Config.Settled
	Fenced  bool   // starts behind the fenced door instead of the act door
	Kept    bool   // runs under a keeper, which needs a part of the lease to end it
	Does    any    // what the service knows about it, compared by reflect.DeepEqual; nil: only the gate is kept

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
	var roles []Role
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

// all are the roles of all sections.
func (c Config) all() (roles []Role) {
	for _, s := range c.Sections {
		for _, r := range s.Roles() {
			r.Section = s.Table()
			roles = append(roles, r)
		}
	}
	return roles
}

// place names one of the settled roles as the file does.
func (c Config) place(i int) string {
	for _, s := range c.Sections {
		n := len(s.Roles())
		if i < n {
			return fmt.Sprintf("%s[%d]", s.Table(), i)
		}
		i -= n
	}
	return ""
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
	var scopes []string
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
