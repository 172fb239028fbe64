package doctor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// well is a database and a machine without fault: one node leads, and another follows.
func well() Facts {
	return Facts{
		Target: "database", Unread: map[string]string{}, Boottime: true,
		Line:   Line{Local: true},
		Server: Server{Version: 150004, Text: "15.4", Role: "node", SystemID: 5, Timeline: 2},
		Schema: 4, Oldest: 4, Newest: 4,
		Privileges: []Privilege{{Name: "SELECT on conch.leadership", Look: true, Has: true}, {Name: "INSERT on conch.leadership", Has: true}},
		Room:       Room{LocksEach: 64, Connections: 100, Reserved: 3, InUse: 10, RoleLimit: -1, BaseLimit: -1},
		Leaderships: []Leadership{
			{Scope: "s", Epoch: 7, Holder: "a", Process: 1, Alive: true, Takeover: "strict", SystemID: 5, Timeline: 2},
		},
		Processes: []Process{{Key: 1, ID: "a", Takeover: "strict", Scopes: []string{"s", "t"}}, {Key: 2, ID: "b", Takeover: "strict", Scopes: []string{"s"}}},
	}
}

func set(name, value, source string) func(*Facts) {
	return func(f *Facts) { f.Settings = append(f.Settings, Setting{Name: name, Value: value, Source: source}) }
}

func standbys(names string, sync ...string) func(*Facts) {
	return func(f *Facts) {
		set("synchronous_standby_names", names, "configuration file")(f)
		for _, s := range sync {
			f.Standbys = append(f.Standbys, Standby{Name: "n", Sync: s})
		}
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	found := Judge(well())
	for i, f := range found {
		if f.Status != OK || f.Remedy != "" || f.Detail == "" || f.Check != checks[i].name {
			t.Errorf("got %+v, want ok with a detail and no remedy", f)
		}
	}
	if len(found) != len(checks) {
		t.Errorf("got %d findings, want %d", len(found), len(checks))
	}
}

func TestEachFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Facts)
		check  string
		status Status
		says   string // of detail and remedy
	}{
		{"case", func(f *Facts) {
			f.Leaderships = append(f.Leaderships, Leadership{Scope: "mailer"}, Leadership{Scope: "Mailer"})
		}, "names", Warn, `"Mailer" and "mailer" look alike`},
		{"letters", func(f *Facts) {
			f.Leaderships = append(f.Leaderships, Leadership{Scope: "mailer"}, Leadership{Scope: "m\u0430iler"})
		}, "names", Warn, `"m\u0430iler"`},
		{"a space", func(f *Facts) { f.Leaderships = append(f.Leaderships, Leadership{Scope: "mailer "}) }, "names", Warn, `"mailer ", of scopes, begins or ends with a space`},
		{"processes", func(f *Facts) { f.Processes = append(f.Processes, Process{ID: "NODE-1"}, Process{ID: "node-l"}) }, "names", Warn, `and are the names of two processes`},
		{"no database", func(f *Facts) { f.Unreachable = "nothing listens" }, "reachable", Fail, "nothing listens"},
		{"standalone", func(f *Facts) { *f = Facts{Standalone: true} }, "reachable", OK, "not asked"},
		{"nothing to lead", func(f *Facts) { *f = Facts{Unled: true} }, "reachable", OK, "leads nothing and needs no database"},
		{"a silent address", func(f *Facts) {
			f.Addresses, f.Unusable = []string{"a: answers", "b: did not answer within 3s"}, true
		}, "addresses", Warn, "b: did not answer within 3s"},
		{"a standby beside", func(f *Facts) { f.Addresses = []string{"a: answers", "b: is a standby"} }, "addresses", OK, "b: is a standby"},
		{"a standby", func(f *Facts) { f.Server.Standby = true }, "reachable", Fail, "target_session_attrs"},
		{"no lock session", func(f *Facts) { f.Session = "too many" }, "reachable", Fail, "too many"},
		{"plain text", func(f *Facts) { f.Line.Local = false }, "encryption", Warn, "plain text"},
		{"unverified", func(f *Facts) { f.Line = Line{TLS: true} }, "encryption", Warn, "CONCH_DB_TLS_CA_FILE"},
		{"verified", func(f *Facts) { f.Line = Line{TLS: true, Verified: true} }, "encryption", OK, "verified"},
		{"an old server", func(f *Facts) { f.Server.Version, f.Server.Text = 130004, "13.4" }, "server", Fail, "13.4"},
		{"session pooler", func(f *Facts) { f.Pooler = "session" }, "pooler", Warn, "session mode"},
		{"transaction pooler", func(f *Facts) { f.Pooler, f.Session = "transaction", "x" }, "pooler", Fail, "transaction mode"},
		{"unknown pooler", func(f *Facts) { f.Pooler, f.Session = "unknown", "no answer" }, "pooler", Fail, "no answer"},
		{"no schema", func(f *Facts) { f.Schema = 0 }, "schema", Fail, "conch migrate up"},
		{"old schema", func(f *Facts) { f.Schema = 3 }, "schema", Fail, "conch migrate up"},
		{"next schema", func(f *Facts) { f.Schema = 5 }, "schema", Warn, "upgrade this program"},
		{"far schema", func(f *Facts) { f.Schema = 6 }, "schema", Fail, "upgrade this program"},
		{"lacks a grant", func(f *Facts) {
			f.Privileges = append(f.Privileges, Privilege{Name: "EXECUTE on conch.bid"})
		}, "privileges", Fail, "EXECUTE on conch.bid"},
		{"an observer", func(f *Facts) { f.Privileges[1].Has = false }, "privileges", Warn, "observer"},
		{"workers out of reach", func(f *Facts) { f.Immortal = []string{"app"} }, "privileges", Warn, "pg_signal_backend"},
		{"locks nearly full", func(f *Facts) { f.Room.LocksHeld = 6000 }, "locks", Fail, "64 × (100 + 0) = 6400"},
		{"locks half full", func(f *Facts) { f.Room.LocksHeld = 3300 }, "locks", Warn, "max_locks_per_transaction"},
		{"many scopes", func(f *Facts) { f.Leaderships = slices.Repeat(f.Leaderships, 2000) }, "locks", Warn, "2000 scopes"},
		{"too many scopes", func(f *Facts) { f.Leaderships = slices.Repeat(f.Leaderships, 4000) }, "locks", Fail, "4000 scopes"},
		{"no connection left", func(f *Facts) { f.Room.InUse = 95 }, "connections", Warn, "2 of 97 left"},
		{"more scopes than the budget", func(f *Facts) { f.Processes[0].Scopes = make([]string, 2000) }, "locks", Warn, "more than a quarter of the table"},
		{"as many by process", func(f *Facts) { f.Processes[0].Scopes, f.Processes[0].Locks = make([]string, 2000), "process" }, "locks", OK, ""},
		{"all by process", func(f *Facts) {
			f.Processes[0].Locks = "process"
			for range 3100 {
				f.Leaderships = append(f.Leaderships, Leadership{Process: 1, Alive: true, Takeover: "strict", SystemID: 5, Timeline: 2})
			}
		}, "locks", OK, ""},
		{"role limit", func(f *Facts) { f.Room.RoleLimit, f.Room.RoleInUse = 5, 4 }, "connections", Warn, `1 of 5 left to role "node"`},
		{"database limit", func(f *Facts) { f.Room.BaseLimit = 3 }, "connections", Warn, "this database"},
		{"asynchronous", standbys("", "async"), "replication", Warn, "may forget"},
		{"synchronous", standbys("n", "sync"), "replication", OK, "one standby"},
		{"quorum", standbys("ANY 1 (n, m)", "quorum", "quorum"), "replication", OK, "2 standbys can confirm a commit and 1 must"},
		{"a stand-in", standbys("n, m", "sync", "potential"), "replication", OK, "2 standbys can confirm a commit and 1 must"},
		{"a quorum of one", standbys("any 1 (n, m)", "quorum"), "replication", OK, "one standby confirms"},
		{"all of two", standbys("2 (n, m)", "sync", "sync"), "replication", OK, "2 standbys confirm every"},
		{"one of two is away", standbys("FIRST 2 (n, m)", "sync"), "replication", Fail, "1 of 2 such standbys"},
		{"its standby is away", standbys("n"), "replication", Fail, "nobody leads"},
		{"only another standby is there", standbys("n", "async"), "replication", Fail, "nobody leads"},
		{"hidden", standbys("n", ""), "replication", Warn, "pg_monitor"},
		{"fsync", set("fsync", "off", "configuration file"), "durability", Fail, "fsync = on"},
		{"full pages", set("full_page_writes", "off", "configuration file"), "durability", Warn, "torn"},
		{"lazy commits", set("synchronous_commit", "off", "user"), "durability", Warn, "RESET synchronous_commit"},
		{"deaf to warnings", func(f *Facts) {
			standbys("n", "sync")(f)
			set("client_min_messages", "error", "session")(f)
		}, "durability", Warn, "RESET client_min_messages"},
		{"nothing to be warned of", set("client_min_messages", "error", "session"), "durability", OK, ""},
		{"unlogged", func(f *Facts) { f.Unlogged = []string{"conch.leadership"} }, "durability", Fail, "SET LOGGED"},
		{"idle sessions", set("idle_session_timeout", "2000", "user"), "settings", Warn, "2s (from: user)"},
		{"idle sessions of a database", set("idle_session_timeout", "2000", "database"), "settings", Warn, "ALTER DATABASE"},
		{"idle sessions of a URL", set("idle_session_timeout", "2000", "client"), "settings", Warn, "URL"},
		{"long timeouts", set("idle_session_timeout", "60000", "database"), "settings", OK, ""},
		{"a hidden row", func(f *Facts) { f.Tables = []Table{{Name: "conch.process", Kind: "r", Secured: true, Hides: true}} }, "tables", Fail, "ALTER TABLE conch.process DISABLE ROW LEVEL SECURITY"},
		{"a row hidden from others", func(f *Facts) { f.Tables = []Table{{Name: "conch.process", Kind: "r", Secured: true}} }, "tables", Warn, "other roles"},
		{"a foreign table", func(f *Facts) { f.Tables = []Table{{Name: "conch.leadership", Kind: "f", Needed: true}} }, "tables", Fail, "is a foreign table"},
		{"a view of their own", func(f *Facts) { f.Tables = []Table{{Name: "conch.mine", Kind: "v"}} }, "tables", OK, ""},
		{"a table that was moved", func(f *Facts) { f.Tables = []Table{{Name: "conch.process", Needed: true, Elsewhere: "old.process"}} }, "tables", Fail, "ALTER TABLE old.process SET SCHEMA conch"},
		{"a table that is gone", func(f *Facts) { f.Tables = []Table{{Name: "conch.process", Needed: true}} }, "tables", Fail, "is missing"},
		{"no table yet", func(f *Facts) { f.Schema, f.Tables = 0, []Table{{Name: "conch.process", Needed: true}} }, "tables", OK, ""},
		{"a rule", func(f *Facts) { f.Tables = []Table{{Name: "conch.process", Kind: "r", Rule: "quiet"}} }, "tables", Fail, "DROP RULE quiet ON conch.process"},
		{"a table lock", func(f *Facts) { f.Locked = []string{"pid 7 (report) holds conch.heartbeat"} }, "waits", Fail, "pid 7 (report)"},
		{"a queue that is not read", func(f *Facts) { f.Queue.Usage = 0.62 }, "notifications", Warn, "62% full"},
		{"and by whom", func(f *Facts) {
			f.Queue.Usage = 0.1
			_ = json.Unmarshal([]byte(`[{"pid": 7, "app": "ear", "base": "b", "seconds": 90}]`), &f.Queue.Oldest)
		}, "notifications", Warn, "pid 7 (ear, database b), for 90 s: SELECT pg_terminate_backend(7)"},
		{"read only", set("default_transaction_read_only", "on", "database"), "settings", Fail, "nobody can be elected"},
		{"no triggers", set("session_replication_role", "replica", "user"), "settings", Fail, "no trigger fires"},
		{"disarmed", func(f *Facts) {
			f.Disarmed, f.Rearm = []string{"guard_epoch"}, []string{"CREATE TRIGGER guard_epoch;"}
		}, "guards", Fail, "guard_epoch is missing or disabled: epochs may go down unnoticed, or followers are not woken as the owner of the schema: CREATE TRIGGER guard_epoch;"},
		{"clock ahead", func(f *Facts) { f.ClockAhead = time.Minute }, "clock", Warn, "1m0s ahead"},
		{"clock behind", func(f *Facts) { f.ClockAhead = -time.Minute }, "clock", Warn, "1m0s behind"},
		{"a slow line", func(f *Facts) { f.ClockAhead, f.ClockSpan = 4*time.Second, 2*time.Second }, "clock", OK, "no decision"},
		{"no boottime", func(f *Facts) { f.Boottime = false }, "boottime", Fail, "CLOCK_BOOTTIME"},
		{"promoted", func(f *Facts) { f.Server.Timeline = 3 }, "history", Warn, "--scope s --epoch 5000007"},
		{"restored elsewhere", func(f *Facts) { f.Server.SystemID = 6 }, "history", Warn, "restored from a dump"},
		{"a scope to quote", func(f *Facts) { f.Leaderships[0].Scope, f.Server.Timeline = "it's", 3 }, "history", Warn, `--scope 'it'\''s'`},
		{"dead, nobody there", func(f *Facts) { f.Leaderships[0].Alive, f.Processes = false, nil }, "holders", Warn, "start a process"},
		{"dead, somebody there", func(f *Facts) { f.Leaderships[0].Alive = false }, "holders", Warn, "a, b campaigns"},
		{"given up", func(f *Facts) { f.Leaderships[0].Alive, f.Leaderships[0].Parted = false, true }, "holders", OK, ""},
		{"vacant", func(f *Facts) {
			l := &f.Leaderships[0]
			l.Alive, l.LeaseMS, l.SilentMS, l.Obstacle = false, 3000, 9001, "its row is locked by pid 7 (to end it: SELECT pg_terminate_backend(7))"
		}, "leaders", Fail, `nobody has led scope "s" for 9s, and a, b would like to: its row is locked by pid 7 (to end it`},
		{"vacant, and nobody can see why", func(f *Facts) { f.Leaderships[0].Parted, f.Leaderships[0].SilentMS = true, 1 }, "leaders", Fail, "NOBODY LEADS"},
		{"vacant for a moment", func(f *Facts) {
			f.Leaderships[0].Alive, f.Leaderships[0].LeaseMS, f.Leaderships[0].SilentMS = false, 3000, 9000
		}, "leaders", OK, ""},
		{"vacant, and nobody wants it", func(f *Facts) { f.Leaderships[0].Parted, f.Leaderships[0].SilentMS, f.Processes = true, 1, nil }, "leaders", OK, ""},
		{"failing", func(f *Facts) {
			f.Leaderships[0].Failures, f.Leaderships[0].LastFailure = 8, "the command ended with code 3"
		}, "roles", Warn,
			`scope "s" has failed 8 times in ten minutes, last: the command ended with code 3`},
		{"failed once", func(f *Facts) { f.Leaderships[0].Failures = 1 }, "roles", Warn, "has failed 1 time in"},
		{"takeovers", func(f *Facts) {
			f.Leaderships = append(f.Leaderships, Leadership{Scope: "t", Epoch: 1, Parted: true, Takeover: "fast", SystemID: 5, Timeline: 2})
		}, "takeover", Warn, `scope "t" agreed on takeover "fast"; refused there: a with "strict"`},
		{"a candidate that never led", func(f *Facts) { f.Processes[1].Takeover = "fast" }, "takeover", Warn, `refused there: b with "fast" set one takeover`},
		{"candidates of what nobody led yet", func(f *Facts) {
			f.Leaderships, f.Processes[1].Takeover = nil, "fast"
		}, "takeover", Warn, `differ in takeover: b with "fast", a with "strict"; the first leader decides`},
		{"a released scope takes any", func(f *Facts) {
			f.Leaderships[0].Parted, f.Leaderships[0].Released = true, true
			f.Processes = f.Processes[1:]
			f.Processes[0].Takeover = "fast"
		}, "takeover", OK, ""},
		{"one name", func(f *Facts) { f.Processes[1].ID = "a" }, "identities", Warn, `call themselves "a"`},
		{"a log without a reader", func(f *Facts) { f.Processes[1].Lost = 4096 }, "logs", Warn, `has lost 4096 lines of its log or more`},
		{"one name, other scopes", func(f *Facts) { f.Processes[1] = Process{Key: 2, ID: "a", Scopes: []string{"u"}} }, "identities", OK, ""},
		{"not to be read", func(f *Facts) { f.Unread["holders"] = "denied" }, "holders", Warn, "denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			facts := well()
			c.change(&facts)
			met := false
			for _, f := range Judge(facts) {
				if (f.Remedy == "") != (f.Status == OK) {
					t.Errorf("%s is %s with the remedy %q, want a remedy unless ok", f.Check, f.Status, f.Remedy)
				}
				met = met || f.Check == c.check && f.Status == c.status && strings.Contains(f.Detail+" "+f.Remedy, c.says)
			}
			if !met {
				t.Errorf("no finding %s %s that says %q among %+v", c.check, c.status, c.says, Judge(facts))
			}
		})
	}
}

// A thousand faults of one kind make only a few findings.
func TestManyOfOneKindAreSummedUp(t *testing.T) {
	t.Parallel()
	f := well()
	f.Processes[0].Scopes = append(f.Processes[0].Scopes, "x")
	for range 1000 {
		f.Leaderships = append(f.Leaderships, Leadership{Scope: "x", Epoch: 1, SystemID: 9, SilentMS: 1, Failures: 1})
	}
	if n := len(Judge(f)); n > len(checks)+4*(most+1) {
		t.Errorf("%d findings, want a few per check", n)
	}
}
