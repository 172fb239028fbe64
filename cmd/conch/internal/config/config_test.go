package config_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
)

// one is the smallest configuration of a node.
const one = "[database]\nurl = \"postgres://conch@db/app\"\n[[roles]]\nname = \"a\"\n"

// alone is the smallest configuration of a standalone node.
const alone = "[node]\nstandalone = true\n[[roles]]\nname = \"a\"\n"

func load(t *testing.T, text string, s config.Source, env map[string]string) (config.Config, error) {
	t.Helper()
	s.Sections = []func() config.Section{roles.Kind().Section}
	return configtest.Load(t, text, s, env)
}

func commandOf(r config.Role) []string { return r.Does.(roles.Job).Command }

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, one, config.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Settled()[0]
	switch {
	case c.Node.Listen != config.DefaultListen || c.Node.OpsListen != "" || c.Node.Standalone:
		t.Errorf("node: got %+v, want the default listen address, no ops listener, not standalone", c.Node)
	case !c.Named || c.Election.Takeover != mint.Strict || c.Election.Lease != 0:
		t.Errorf("election: got %+v, want a named database, strict and no lease", c.Election)
	case r.Name != "a" || r.Scope != "a" || commandOf(r) != nil:
		t.Errorf("role: got %+v, want name and scope a and no command", r)
	}
}

// What a file has is known by the names of its tables, however they are written.
func TestTables(t *testing.T) {
	t.Parallel()
	c, err := load(t, "metrics = { per_scope = \"gauges\" }\nnode.listen = \"off\"\n"+one+"[election]\n", config.Source{}, nil)
	if got, want := c.Tables(), []string{"database", "election", "metrics", "node", "roles"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// The roles limit how long answers are promised for, so that each role can wait for them.
func TestAnswerMax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		one:                                   500 * time.Millisecond,
		one + "[node]\nanswer_max = \"2s\"\n": 2 * time.Second,
		one + "drain_timeout = \"300ms\"\n":   150 * time.Millisecond,
		one + "lease = \"400ms\"\n":           350 * time.Millisecond,
		alone + "drain_timeout = \"300ms\"\n": 500 * time.Millisecond,
	} {
		c, err := load(t, text, config.Source{}, nil)
		if got := c.AnswerMax(); err != nil || got != want {
			t.Errorf("AnswerMax is %s, error %v, not as the table has it, for:\n%s", got, err, text)
		}
	}
}

func TestEveryKey(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
[node]
instance_id = "n1"
listen = "127.0.0.1:1"
ops_listen = "127.0.0.1:2"
data_dir = "data"
[database]
url = "postgres://conch@db/app"
tls_insecure = true
[election]
lease = "2s"
heartbeat = "300ms"
late_threshold = "1500ms"
check_interval = "1s"
lock_timeout = "700ms"
takeover = "fast"
lock_budget = 10
locks = "process"
[[roles]]
name = "first"
scope = "s:1"
command = 'worker --title "a b"'
preferred = ["n1", "n2"]
never = ["n3"]
fenced = true
drain_timeout = "7s"
lease = "4s"
[[roles]]
name = "second"
http = "http://127.0.0.1:9000/lead"
takeover = "keep"
[[roles]]
name = "third"
builtin = "log"
stall_after = "30s"
[[roles]]
name = "fourth"
command = ["sh", "-c", "a | b"]
`, config.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := c.Settled()[0], c.Settled()[1]
	if !slices.Equal(commandOf(first), []string{"worker", "--title", "a b"}) || first.Scope != "s:1" || !first.Fenced {
		t.Errorf("first role: got %+v, want the command in three words, scope s:1, fenced", first)
	}
	if !filepath.IsAbs(c.Node.DataDir) {
		t.Errorf("data_dir is %q, want it to start at the file's folder", c.Node.DataDir)
	}
	if got := first.ElectorSettings(); got != (config.ElectorSettings{Takeover: mint.Fast, Heartbeat: 300 * time.Millisecond, CheckInterval: time.Second, LockTimeout: 700 * time.Millisecond, DrainTimeout: 7 * time.Second}) {
		t.Errorf("terms of the first role: got %+v, want those of [election] with a drain timeout of 7s", got)
	}
	if got, err := first.Grace(); err != nil || got != 740*time.Millisecond {
		t.Errorf("the first role is asked to end %s before its deadline, error %v; want 740ms", got, err)
	}
	if got := second.ElectorSettings(); got.Takeover != mint.Keep || got == first.ElectorSettings() {
		t.Errorf("terms of the second role: got %+v, want keep, unlike the first", got)
	}
	if c.Database.Locks != pgmint.ProcessLocks || c.Database.LockBudget != 10 {
		t.Errorf("locks %q, budget %d; want process and 10", c.Database.Locks, c.Database.LockBudget)
	}
	e := c.Elector(first)
	if e.ID != "n1" || e.LockTimeout != 700*time.Millisecond || e.Lease != 2*time.Second || e.Roles[0].Lease != 4*time.Second || e.Roles[0].Never[0] != "n3" {
		t.Errorf("elector: got %+v, want id n1, a lock timeout of 700ms, leases of 2s and 4s, never n3", e)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		name, text string
		env        map[string]string
		says       []string
	}{
		{"a scope with a space", "[[roles]]\nscope = \"mailer \"\n", nil, []string{`line 1, roles[0]: the scope "mailer " begins or ends with a space`}},
		{"a name that is a scope", "[[roles]]\nname = \"\u00a0mailer\"\n", nil, []string{"roles[0]: the scope", "U+00A0"}},
		{"a name beside a scope", "[[roles]]\nscope = \"a\"\nname = \"b \"\n", nil, []string{`line 3, roles[0].name: "b " begins or ends with a space`}},
		{"a scope that is a path", "[[roles]]\nscope = \".\"\n", nil, []string{`"." is a folder in every path`}},
		{"an id that nobody sees", one + "[node]\ninstance_id = \"a\u200b\"\n", nil, []string{"line 6, node.instance_id", "U+200B"}},
		{"names of others", one + "preferred = [\"a \"]\nnever = [\"\ufeffb\"]\n", nil, []string{"roles[0].preferred[0]", "roles[0].never[0]", "U+FEFF"}},
		{"quotes of a word processor", one + "[node]\nlisten = “x”\n", nil, []string{"line 6: this is not TOML", "of a word processor"}},
		{"a quote of a chat", one + "[node]\nlisten = \"x”\n", nil, []string{"line 6", "of a word processor"}},
		{"a mark before the first character", "\ufeff" + one + "[node]\nlisen = 3\n", nil, []string{`line 6, node.lisen`}},
		{"a duration that is a flag", one + "[election]\nlease = true\n", nil, []string{`line 6, election.lease: "true" is not a duration`}},
		{"not TOML", "[node\n", nil, []string{"line 1", "not TOML"}},
		{"unknown section", one + "[nodes]\n", nil, []string{"line 5, nodes: unknown key", `"node"`}},
		{"unknown key", one + "[node]\nlisen = \"x\"\n", nil, []string{"line 6, node.lisen", `is "listen" meant?`}},
		{"far from all", one + "[node]\nzebra = 1\n", nil, []string{"node.zebra", "these are known: ", "token_file"}},
		{"FORGE's name", one + "[election]\nlease_duration = \"3s\"\n", nil, []string{`it is called "lease"`}},
		{"FORGE's other name", one + "[election]\nrefresh_interval = \"3s\"\n", nil, []string{`it is called "heartbeat"`}},
		{"unknown key of a role", one + "[[roles]]\nname = \"b\"\ncomand = \"x\"\n", nil, []string{"line 7, roles[1].comand", `"command"`}},
		{"a later wing", one + "[[crons]]\nname = \"x\"\n[[alerts]]\n", nil, []string{"crons: [[crons]] is not in this version", "line 7, alerts"}},
		{"all of them", "[[contracts]]\n[[logs]]\n[[notify]]\n" + one, nil, []string{"line 1, contracts", "line 2", "line 3, notify"}},
		{"a table for a value", one + "[node.listen]\nx = 1\n", nil, []string{"node.listen"}},
		{"a list for a table", "[[node]]\nlisten = \"off\"\n" + one, nil, []string{"line 1, node: is a list", "write [node]"}},
		{"another encoding", "\xff\xfe[\x00n\x00", nil, []string{"line 1: this is no text in UTF-8"}},
		{"a value for a table", "node = 3\n" + one, nil, []string{"line 1, node: is a single value"}},
		{"roles without brackets", "[roles]\nname = \"a\"\n[database]\nurl = \"postgres://db\"\n", nil, []string{"line 1, roles", "[[roles]]"}},
		{"text", one + "[node]\nlisten = 7070\n", nil, []string{"line 6, node.listen: 7070 is not a text"}},
		{"flag", one + "[node]\nstandalone = \"yes\"\n", nil, []string{`"yes" is neither true nor false`}},
		{"duration without a unit", one + "[election]\nlease = 3\n", nil, []string{"line 6, election.lease", `"3s" or "3ms"`}},
		{"no duration", one + "[election]\nlease = \"soon\"\n", nil, []string{`"soon" is not a duration`}},
		{"negative duration", one + "[election]\nlease = \"-3s\"\n", nil, []string{"not above 0"}},
		{"count", one + "[election]\nlock_budget = -1\n", nil, []string{"lock_budget: -1 is not a whole number, 0 or above"}},
		{"locks", one + "[election]\nlocks = \"row\"\n", nil, []string{"election.locks", "is none of session, process"}},
		{"locks of a role", one + "locks = \"process\"\n", nil, []string{"line 5, roles[0].locks: ", "not to one role", "write it in [election]"}},
		{"lock budget of a role", one + "lock_budget = 5\n", nil, []string{"line 5, roles[0].lock_budget: ", "not to one role", "write it in [election]"}},
		{"locks in the environment", one, map[string]string{"CONCH_LOCKS": "row"}, []string{"CONCH_LOCKS", "is none of session, process"}},
		{"lock budget in the environment", one, map[string]string{"CONCH_LOCK_BUDGET": "few"}, []string{"CONCH_LOCK_BUDGET", "not a whole number"}},
		{"list", one + "preferred = \"n1\"\n", nil, []string{"line 5, roles[0].preferred", "not a list"}},
		{"list of numbers", one + "never = [1]\n", nil, []string{"roles[0].never[0]: 1 is not a text"}},
		{"takeover", one + "[election]\ntakeover = \"slow\"\n", nil, []string{"none of strict, fast, keep"}},
		{"takeover of a role", one + "takeover = \"slow\"\n", nil, []string{"line 5, roles[0].takeover"}},
		{"lease", one + "lease = \"1ms\"\n", nil, []string{"roles[0]", "lease of 1ms is not between"}},
		{"heartbeat", one + "heartbeat = \"2s\"\n", nil, []string{"heartbeat every 2s is too slow"}},
		{"FORGE's lock timeout", one + "[election]\nlock_timeout = \"10s\"\n", nil, []string{"lock timeout of 10s is not between 1ms and 1.2s"}},
		{"late threshold", one + "late_threshold = \"10ms\"\n", nil, []string{"late threshold must exceed"}},
		{"no time to end a command", one + "command = \"a\"\nlate_threshold = \"740ms\"\n", nil, []string{"line 6, roles[0].late_threshold: ", "by 300ms or more"}},
		{"no time to end a command, by the environment", one + "command = \"a\"\n", map[string]string{"CONCH_HEARTBEAT_LATE_THRESHOLD_MS": "740"}, []string{"conch.toml: CONCH_HEARTBEAT_LATE_THRESHOLD_MS: ", "late threshold"}},
		{"id", one + "[node]\ninstance_id = \"a:b\"\n", nil, []string{"line 6, node.instance_id", "contains ':'"}},
		{"preferred id", one + "preferred = [\"a:b\"]\n", nil, []string{"contains ':'"}},
		{"no roles", "[database]\nurl = \"postgres://db\"\n", nil, []string{"nothing to lead"}},
		{"no name", one + "[[roles]]\nbuiltin = \"log\"\n", nil, []string{"line 5, roles[1]: has neither name nor scope"}},
		{"same name", one + "[[roles]]\nname = \"a\"\nscope = \"b\"\n", nil, []string{"roles[1].name", "roles[0] already"}},
		{"same scope", one + "[[roles]]\nname = \"b\"\nscope = \"a\"\n", nil, []string{"roles[1].scope", "roles[0] already"}},
		{"two kinds", one + "builtin = \"log\"\nhttp = \"http://x\"\n", nil, []string{"more than one of command, http, builtin"}},
		{"builtin", one + "builtin = \"cron\"\n", nil, []string{`"cron" is not built in: there are ["aggregation" "compaction" "log"]`}},
		{"what compaction keeps", one + "builtin = \"compaction\"\nkeep = \"1h\"\n", nil, []string{"line 6, roles[0].keep: 1h0m0s", "24h0m0s at least"}},
		{"what a command keeps", one + "builtin = \"log\"\nkeep = \"48h\"\n", nil, []string{"line 6, roles[0].keep", `is for builtin = "aggregation" and "compaction"`}},
		{"what aggregation keeps", one + "builtin = \"aggregation\"\nkeep = \"10m\"\n", nil, []string{"line 6, roles[0].keep: 10m0s: 1h0m0s at least"}},
		{"slots that are too short", one + "builtin = \"aggregation\"\nevery = \"100ms\"\n", nil, []string{"line 6, roles[0].every: 100ms: 1s to 5m0s"}},
		{"slots that are too long", one + "builtin = \"aggregation\"\nevery = \"1h\"\n", nil, []string{"roles[0].every: 1h0m0s: 1s to 5m0s"}},
		{"slots of a compaction", one + "builtin = \"compaction\"\nevery = \"1m\"\n", nil, []string{"line 6, roles[0].every", `is for builtin = "aggregation"`}},
		{"two aggregations", one + "builtin = \"aggregation\"\n[[roles]]\nname = \"z\"\nbuiltin = \"aggregation\"\n", nil, []string{`roles[1].builtin: roles[0] is "aggregation" already`}},
		{"aggregation without a database", "[node]\nstandalone = true\n[[roles]]\nname = \"a\"\nbuiltin = \"aggregation\"\n", nil, []string{"line 5, roles[0].builtin: a standalone node has nowhere to keep figures"}},
		{"compaction without a database", "[node]\nstandalone = true\n[[roles]]\nname = \"a\"\nbuiltin = \"compaction\"\n", nil, []string{"line 5, roles[0].builtin: a standalone node has no history"}},
		{"compaction that stalls", one + "builtin = \"compaction\"\nstall_after = \"1m\"\n", nil, []string{"roles[0].stall_after", "take it out"}},
		{"http", one + "http = \"ftp://x\"\n", nil, []string{"is not a URL such as"}},
		{"http with a secret", one + "http = \"htp://u:hunter2@h/lead\"\n", nil, []string{"roles[0].http: is not a URL such as"}},
		{"http with a query", one + "http = \"http://h/lead?token=hunter2\"\n", nil, []string{"roles[0].http: has a ? or #"}},
		{"empty http", one + "http = \"\"\n", nil, []string{"line 5, roles[0].http: is empty"}},
		{"empty builtin", one + "builtin = \"\"\n", nil, []string{"line 5, roles[0].builtin: is empty"}},
		{"list for a text", "[database]\nurl = [\"postgres://u:hunter2@h/d\"]\n[[roles]]\nname = \"a\"\n", nil, []string{"database.url: is not one text"}},
		{"empty command", one + "command = []\n", nil, []string{"command: is empty"}},
		{"empty command line", one + "command = \" \"\n", nil, []string{"line 5, roles[0].command: is empty"}},
		{"a command for a shell", one + "command = \"a | b\"\n", nil, []string{"starts no shell", `"sh", "-c"`}},
		{"an expansion", one + "command = 'a \"$HOME\"'\n", nil, []string{"starts no shell"}},
		{"a database for a command", one + "command = \"a\"\ncmd_db = \"hunter2\"\n", nil, []string{"line 6, roles[0].cmd_db: is neither a URL nor none"}},
		{"nothing for a command", one + "command = \"a\"\ncmd_db = \"\"\nuser = \"\"\n", nil, []string{"roles[0].cmd_db: is empty", "roles[0].user: is empty"}},
		{"a database without a command", one + "cmd_db = \"none\"\nuser = \"nobody\"\n", nil, []string{"has cmd_db or user", "name the command"}},
		{"an open quote", one + "command = \"a 'b\"\n", nil, []string{"not closed"}},
		{"stall", one + "command = \"a\"\nstall_after = \"3s\"\n", nil, []string{"reports its progress"}},
		{"standalone with a database", one + "[node]\nstandalone = true\n", nil, []string{"line 6, node.standalone", "uses no database"}},
		{"standalone and never leading", alone, map[string]string{"CONCH_LEADER_ENABLED": "false"}, []string{"line 2, node.standalone", "CONCH_LEADER_ENABLED=false", "take one of the two out"}},
		{"standalone and never itself", alone + "never = [\"n2\", \"n1\"]\n", map[string]string{"CONCH_INSTANCE_ID": "n1"}, []string{`line 5, roles[0].never: "n1" is this node`, "standalone"}},
		{"answers longer than a drain waits", one + "drain_timeout = \"2s\"\n[node]\nanswer_max = \"1001ms\"\n", nil,
			[]string{"line 7, node.answer_max: 1.001s is above half of the drain_timeout of roles[0] (2s)", "lower it to 1s"}},
		{"answers longer than the gate is open", one + "lease = \"2s\"\n[[roles]]\nname = \"b\"\n[node]\nanswer_max = \"2s\"\n", nil,
			[]string{"line 9, node.answer_max: 2s is above 1.8s", "the gate of roles[0] open"}},
		{"answers for no time", one + "[node]\nanswer_max = \"1us\"\n", nil, []string{"line 6, node.answer_max", "1ms or more"}},
		{"half of TLS", one + "[node]\ntls_cert = \"x\"\n", nil, []string{"without tls_key"}},
		{"other half of TLS", one + "[node]\ntls_key = \"x\"\n", nil, []string{"without tls_cert"}},
		{"no CA", one + "[database]\n", nil, []string{"not TOML"}},
		{"CA", "[database]\nurl = \"postgres://db/x\"\ntls_ca_file = '" + missing + "'\n[[roles]]\nname = \"a\"\n", nil, []string{"missing"}},
		{"env", one, map[string]string{"CONCH_LEASE_MS": "soon", "CONCH_LEADER_ENABLED": "maybe"}, []string{"CONCH_LEASE_MS", "CONCH_LEADER_ENABLED"}},
		{"one key for two scopes", one + "[[roles]]\nname = \"b\"\n", map[string]string{"CONCH_LEADER_LOCK_KEY": "7"}, []string{"CONCH_LEADER_LOCK_KEY", "2 scopes"}},
		{"url", "[database]\nurl = \"postgres://conch:hunter2@db:port/x\"\n[[roles]]\nname = \"a\"\n", nil, []string{"unusable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text, config.Source{}, c.env)
			if _, ok := errors.AsType[*config.FaultsError](err); !ok {
				t.Fatalf("got error %v, want a FaultsError", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want it to say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the fault contains the password")
			}
		})
	}
}

// Naming other nodes in never is no fault on a standalone node.
func TestAlone(t *testing.T) {
	t.Parallel()
	c, err := load(t, alone+"never = [\"n2\"]\n", config.Source{ID: "n1"}, map[string]string{"CONCH_LEADER_ENABLED": "true"})
	if err != nil || !c.Node.Standalone {
		t.Errorf("got %+v, %v; want standalone and no error", c.Node, err)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, "[node]\nlisen = 1\nstandalone = 2\n[election]\nlease = 3\n[[roles]]\n", config.Source{}, nil)
	var faults *config.FaultsError
	if !errors.As(err, &faults) || len(faults.List) != 4 || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, want four faults on four lines", err)
	}
}

func TestWhoWins(t *testing.T) {
	t.Parallel()
	const text = "[node]\ninstance_id = \"file\"\nlisten = \"127.0.0.1:1\"\n[database]\nurl = \"postgres://file/x\"\n" +
		"[election]\nlease = \"2s\"\n[[roles]]\nname = \"a\"\n[[roles]]\nname = \"b\"\nlease = \"7s\"\n"
	env := map[string]string{"CONCH_DB_URL": "postgres://env/x", "CONCH_INSTANCE_ID": "env", "CONCH_LEASE_MS": "5000"}
	file, err := load(t, text, config.Source{}, nil)
	if err != nil || file.Database.URL != "postgres://file/x" || file.Election.ID != "file" || file.Election.Lease != 2*time.Second {
		t.Errorf("the file alone: got %+v, %v; want the values of the file", file, err)
	}
	over, err := load(t, text, config.Source{}, env)
	if err != nil || over.Database.URL != "postgres://env/x" || over.Election.ID != "env" || over.Election.Lease != 5*time.Second {
		t.Errorf("environment and file: got %+v, %v; want the values of the environment", over, err)
	}
	if over.Settled()[1].Lease != 7*time.Second {
		t.Errorf("a role's own lease: got %+v, want 7s", over.Settled()[1])
	}
	flags, err := load(t, text, config.Source{DB: "postgres://flag/x", ID: "flag", Listen: "off"}, env)
	if err != nil || flags.Database.URL != "postgres://flag/x" || flags.Election.ID != "flag" || flags.Node.Listen != config.Off {
		t.Errorf("flags, environment and file: got %+v, %v; want the values of the flags", flags, err)
	}
	if none, err := load(t, "[[roles]]\nname = \"a\"\n", config.Source{}, nil); err != nil || none.Named {
		t.Errorf("no database: got %+v, %v; want no error and not named", none, err)
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Source{Path: filepath.Join(t.TempDir(), "none.toml"), Getenv: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("got %v, want an error that names none.toml", err)
	}
}

// Each fault has the line and the key, flag or variable of its cause, in order of lines.
func TestWhereFaultsAre(t *testing.T) {
	t.Parallel()
	const two = one + "[[roles]]\nname = \"b\"\n"
	for _, c := range []struct {
		name, text string
		source     config.Source
		env        map[string]string
		want       []string
	}{
		{"in order", "[[roles]]\nname = \"a\"\nlease = \"x\"\n[node]\nzzzzzz = 1\nlisten = 3\n[database]\nurl = \"x\"\n", config.Source{}, nil,
			[]string{"line 3, roles[0].lease", "line 5, node.zzzzzz", "line 6, node.listen", "line 8, database.url"}},
		{"lease of a role", one + "lease = \"1ms\"\n", config.Source{}, nil, []string{"line 5, roles[0].lease: scope \"a\": a lease of 1ms"}},
		{"lease of all", two + "[election]\nlease = \"1ms\"\n", config.Source{}, nil, []string{"line 8, election.lease"}},
		{"lease of the environment", two, config.Source{}, map[string]string{"CONCH_LEASE_MS": "1"}, []string{"CONCH_LEASE_MS: scope \"a\": a lease of 1ms"}},
		{"over one of the file", "[election]\nlease = \"3s\"\n" + one, config.Source{}, map[string]string{"CONCH_LEASE_MS": "1"}, []string{"CONCH_LEASE_MS: "}},
		{"under a role's own", one + "lease = \"1ms\"\n", config.Source{}, map[string]string{"CONCH_LEASE_MS": "3000"}, []string{"line 5, roles[0].lease"}},
		{"heartbeat", one + "[election]\nlease = \"1s\"\nheartbeat = \"2s\"\n", config.Source{}, nil, []string{"line 7, election.heartbeat: scope \"a\": a heartbeat every 2s"}},
		{"heartbeat beside a lease that is none", one + "[election]\nheartbeat = \"2s\"\nlease = \"1ms\"\n", config.Source{}, nil, []string{"line 7, election.lease"}},
		{"heartbeat of the environment", one, config.Source{}, map[string]string{"CONCH_HEARTBEAT_INTERVAL_MS": "2000"}, []string{"CONCH_HEARTBEAT_INTERVAL_MS: "}},
		{"late threshold", one + "late_threshold = \"10ms\"\n", config.Source{}, nil, []string{"line 5, roles[0].late_threshold"}},
		{"lock timeout", one + "[election]\nlock_timeout = \"10s\"\n", config.Source{}, nil, []string{"line 6, election.lock_timeout"}},
		{"never", one + "never = [\"n1\", \"a:b\"]\n", config.Source{}, nil, []string{"line 5, roles[0].never[1]"}},
		{"nothing to lead", "[database]\nurl = \"postgres://db\"\n\n", config.Source{}, nil, []string{"roles: there is nothing to lead"}},
		{"id of a flag", one + "[node]\ninstance_id = \"n1\"\n", config.Source{ID: "a:b"}, nil, []string{"--id: the instance id"}},
		{"id of the environment", one, config.Source{}, map[string]string{"CONCH_INSTANCE_ID": "a:b"}, []string{"CONCH_INSTANCE_ID: the instance id"}},
		{"url of a flag", one, config.Source{DB: "mysql://h"}, nil, []string{"--db: the database"}},
		{"url of the environment", one, config.Source{}, map[string]string{"CONCH_DB_URL": "mysql://h"}, []string{"CONCH_DB_URL: the database"}},
		{"CA file", "[database]\nurl = \"postgres://h\"\ntls_ca_file = \"none\"\n[[roles]]\nname = \"a\"\n", config.Source{}, nil, []string{"line 3, database.tls_ca_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text, c.source, c.env)
			faults, _ := errors.AsType[*config.FaultsError](err)
			if faults == nil || len(faults.List) != len(c.want) {
				t.Fatalf("got %v, want as many faults as the table has", err)
			}
			for i, want := range c.want {
				if got := faults.List[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("got fault %q, want it to begin with %q", got, want)
				}
			}
		})
	}
}
