package doctor

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/internal/expiry"
)

// Facts are what the checks look at.
type Facts struct {
	Standalone  bool     // the configuration is of a standalone node
	Unled       bool     // it is of a node that has no role and names no database
	Target      string   // the database, without a password
	Unreachable string   // why the database could not be asked, as one sentence
	Addresses   []string // those of the database, each with what came of it
	Unusable    bool     // one of them is of no use to anybody now
	// Unread says, for each check, why its facts could not be read.
	Unread map[string]string

	Line    Line
	Server  Server
	Pooler  string // "", "session", "transaction", "statement", "unknown"
	Product string // the pooler's name, if known
	Session string // why no lock session could be opened, as one sentence
	Schema  int    // 0: none
	Oldest  int    // the oldest schema that this program works with
	Newest  int    // the newest

	Privileges []Privilege
	Immortal   []string // roles that may fence and whose sessions this role could not end

	Room        Room
	Standbys    []Standby
	Settings    []Setting
	Unlogged    []string // tables of conch that a crash would empty
	Locked      []string // what locks tables of conch, and what ends that; those first that wait for nobody
	Tables      []Table
	Queue       Queue
	Disarmed    []string // triggers of conch that are missing or disabled
	Rearm       []string // the statements that put them back
	ClockAhead  time.Duration
	ClockSpan   time.Duration // round trip of the query: the error of ClockAhead
	Boottime    bool
	Leaderships []Leadership
	Processes   []Process
}

// Line is the connection to the database.
type Line struct {
	Local    bool // a Unix socket or the loopback
	TLS      bool
	Verified bool // the certificate was checked
	// Certificate says how near its end is, if it was.
	Certificate expiry.Verdict
}

// Server is what the database server says about itself.
type Server struct {
	Version  int    `json:"version"` // 150004
	Text     string `json:"text"`
	Standby  bool   `json:"standby"`
	Role     string `json:"role"`
	SystemID int64  `json:"system_id"`
	Timeline int64  `json:"timeline"` // 0 on a standby
}

// Privilege is a privilege that a node needs.
type Privilege struct {
	Name string `json:"name"`
	Look bool   `json:"look"` // an observer needs it too
	Has  bool   `json:"has"`
}

// Table is a table that conch needs, or another one of its schema.
type Table struct {
	Name      string `json:"name"`      // conch.leadership
	Kind      string `json:"kind"`      // relkind; empty if it is missing
	Elsewhere string `json:"elsewhere"` // where a table of that name is instead
	Needed    bool   `json:"needed"`
	Secured   bool   `json:"secured"` // row-level security is on
	Hides     bool   `json:"hides"`   // and it counts for this role
	Rule      string `json:"rule"`    // one that is on it
}

// Queue is the server's queue of notifications, and the sessions with the oldest transactions.
type Queue struct {
	Usage  float64 `json:"usage"` // 1: full
	Oldest []struct {
		PID     int    `json:"pid"`
		App     string `json:"app"`
		Base    string `json:"base"`
		Seconds int64  `json:"seconds"`
	} `json:"oldest"`
}

// Room is the use and the limits of the server's lock table and connections.
type Room struct {
	LocksEach   int `json:"locks_each"` // max_locks_per_transaction
	Connections int `json:"connections"`
	Prepared    int `json:"prepared"`
	LocksHeld   int `json:"locks_held"`
	Reserved    int `json:"reserved"`
	InUse       int `json:"in_use"`
	RoleLimit   int `json:"role_limit"` // -1: none
	RoleInUse   int `json:"role_in_use"`
	BaseLimit   int `json:"base_limit"` // of the database; -1: none
	BaseInUse   int `json:"base_in_use"`
}

// Standby is a row of pg_stat_replication. Without pg_monitor only its presence is visible.
type Standby struct {
	Name string `json:"name"`
	Sync string `json:"sync"` // async, potential, sync, quorum; empty if not visible
}

// Setting is a setting of the present role in the present database.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // in milliseconds if it is a time
	Source string `json:"source"`
}

// Leadership is one row of conch.leadership.
type Leadership struct {
	Scope       string `json:"scope"`
	Epoch       int64  `json:"epoch"`
	Holder      string `json:"holder"`
	Process     int64  `json:"process"`
	Alive       bool   `json:"alive"`  // the holder's session holds its process key
	Parted      bool   `json:"parted"` // given up
	Released    bool   `json:"released"`
	Takeover    string `json:"takeover"`
	SystemID    int64  `json:"system_id"`
	Timeline    int64  `json:"timeline"`
	SilentMS    int64  `json:"silent_ms"` // since the last heartbeat, or since the scope was first wanted
	LeaseMS     int64  `json:"lease_ms"`
	Obstacle    string `json:"obstacle"` // what keeps candidates from leading, and how to end that; empty if led or not visible
	Failures    int64  `json:"failures"` // of its role, in the last ten minutes
	LastFailure string `json:"last_failure"`
}

// Process is a live candidate.
type Process struct {
	Key      int64    `json:"key"`
	ID       string   `json:"id"`
	Takeover string   `json:"takeover"`
	Locks    string   `json:"locks"`  // session: a lock for each scope that it leads
	Scopes   []string `json:"scopes"` // those that it has not withdrawn from
	Lost     int64    `json:"lost"`   // lines of its log, at least
}

func (f Facts) poolerName() string { return cmp.Or(f.Product, "a pooler") }

// setting returns a setting, empty if the server does not know it.
func (f Facts) setting(name string) Setting {
	for _, s := range f.Settings {
		if s.Name == name {
			return s
		}
	}
	return Setting{}
}
