package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
)

// Config is the configuration of a node, from its file, environment and command line.
type Config struct {
	Node     Node
	Database pgmint.Config
	// Named reports whether a database is configured. Only a standalone node, and one without roles, starts without.
	Named bool
	// Election is [election] and the environment (S27), without a mint and roles; see Elector.
	Election election.Config
	// Sections are those of the services, as read.
	Sections []Section
	origins  origins
}

// Section is a service's part of the file, made anew for each reading and not changed after it.
type Section interface { //nolint:interfacebloat // the steps of one reading
	// Table names the table whose elements are roles, such as roles for [[roles]].
	Table() string
	// Keys returns the setters of the service's tables, by name.
	Keys(d *Decoder) map[string]Setter
	// Settle fills in what follows from other keys, also those of other sections, once all have been read.
	Settle(d *Decoder, c Config)
	// Roles returns the roles that this node campaigns for, one for each element of the table.
	Roles() []Role
	// Validate finds faults beyond single keys, except in the terms and scopes of roles.
	Validate(d *Decoder, c Config)
}

// Everywhere is a Section whose service may have work that each node does, whether it leads something or not.
type Everywhere interface {
	// Everywhere reports whether this configuration has such work.
	Everywhere() bool
}

// Teller is a Section whose service tells the nodes of an overlay news, under topics of its own for which there has to be room.
type Teller interface {
	// Topics returns them.
	Topics() []string
}

// Fixed is a Section with keys that are read once, when the node starts.
type Fixed interface {
	// Restarts names those that differ from what the node has begun with, such as gossip.electors.
	Restarts(began, fresh Config) (keys []string)
}

// Of returns the section of a service by its type; nil if there is none.
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
	TokenFile     string // tokens that may do everything
	ReadTokenFile string // tokens that may only read
	TLSCert       string
	TLSKey        string
	Cluster       string        // [alerting] cluster: the name of all nodes together, for people; may be empty
	PublicURL     string        // where browsers reach the API through a proxy; empty: at its own address
	DataDir       string        // of conch.pid; empty: none is written
	AnswerMax     time.Duration // see Config.AnswerMax; 0: the default
	GaugesOnly    bool          // [metrics] per_scope = "gauges": what is counted is counted for all scopes together
	Standalone    bool          // one copy, no database, every gate open (S18)

	SampleInterval time.Duration // [alerting] interval: how often the node tells the values that alerts need; 0: the default
}

// Off is the listen address for no listener.
const Off = "off"

// DefaultListen is where the API of a node listens unless told otherwise.
const DefaultListen = "127.0.0.1:7070"

// Role is a scope that the node campaigns for, and what it does while it leads.
type Role struct {
	Name    string
	Scope   string
	Section string // the table of its section; set by Config.Settled
	Fenced  bool   // starts behind the fenced door instead of the act door
	Kept    bool   // runs under a keeper, which needs part of the lease to end it
	Does    any    // the service's part, compared by reflect.DeepEqual; nil: the role only keeps a gate

	Preferred    []string
	Never        []string
	StallAfter   time.Duration
	DrainTimeout time.Duration

	Lease         time.Duration // 0 in this field or one below: that of [election]
	Heartbeat     time.Duration
	LateThreshold time.Duration
	CheckInterval time.Duration
	LockTimeout   time.Duration
	Takeover      mint.Takeover
}

// Grace returns how long before its deadline the command of a settled role is asked to end.
func (r Role) Grace() (time.Duration, error) {
	e := Config{}.Elector(r)
	return keeper.Grace(0, or(r.Lease, defaultLease), e.Spare(e.Roles[0]))
}

// defaultLease is the elector's.
const defaultLease = 3 * time.Second

// ElectorSettings are the settings that all roles of an elector share. Roles with equal ones share an
// elector, and with it a database session.
type ElectorSettings struct {
	Takeover                                            mint.Takeover
	Heartbeat, CheckInterval, LockTimeout, DrainTimeout time.Duration
}

// ElectorSettings returns those of a settled role.
func (r Role) ElectorSettings() ElectorSettings {
	return ElectorSettings{
		Takeover: r.Takeover, Heartbeat: r.Heartbeat, CheckInterval: r.CheckInterval,
		LockTimeout: r.LockTimeout, DrainTimeout: r.DrainTimeout,
	}
}

// Settled returns the roles, completed from [election]. A reload leaves a role alone if its
// settled form has not changed.
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

func (c Config) all() (roles []Role) {
	for _, s := range c.Sections {
		for _, r := range s.Roles() {
			r.Section = s.Table()
			roles = append(roles, r)
		}
	}
	return roles
}

// Places returns the names by which faults call the settled roles, such as roles[1].
func (c Config) Places() (all []string) {
	for _, s := range c.Sections {
		for i := range s.Roles() {
			all = append(all, fmt.Sprintf("%s[%d]", s.Table(), i))
		}
	}
	return all
}

// defaultDrain is how long a role may take to end when it is asked to (F6).
const defaultDrain = 10 * time.Second

// Elector returns the configuration of an elector for settled roles with equal ElectorSettings, without
// its mint, its events and the roles' functions.
func (c Config) Elector(roles ...Role) election.Config {
	e := c.Election
	for _, r := range roles {
		t := r.ElectorSettings()
		e.Takeover, e.Heartbeat, e.CheckInterval, e.DrainTimeout = t.Takeover, t.Heartbeat, t.CheckInterval, t.DrainTimeout
		e.LockTimeout = t.LockTimeout
		e.Roles = append(e.Roles, election.Role{
			Scope: r.Scope, Lease: r.Lease, LateThreshold: r.LateThreshold,
			Preferred: r.Preferred, Never: r.Never, StallAfter: r.StallAfter,
		})
	}
	return e
}

// everywhere reports whether a node of this configuration has something to do without a role.
func (c Config) everywhere() bool {
	return slices.ContainsFunc(c.Sections, func(s Section) bool {
		works, is := s.(Everywhere)
		return is && works.Everywhere()
	})
}

// UsesDatabase reports whether a node of this configuration needs its database. One that has work and no role has nothing
// to elect, and uses the database only if one is named.
func (c Config) UsesDatabase() bool {
	return !c.Node.Standalone && (c.Named || len(c.all()) > 0 || !c.everywhere())
}

// Tables names what the file has, such as logs and gossip, sorted.
func (c Config) Tables() (all []string) {
	for key := range c.origins.lines {
		if !strings.ContainsAny(key, ".[") {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// Scopes lists the scopes of all roles.
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
