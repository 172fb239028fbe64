package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	// Nothing listens there: a mistake must be seen before the database is used.
	const db = "--db=postgres://conch:hunter2@127.0.0.1:1/app"
	for _, c := range []struct {
		args string
		says []string
	}{
		{"bogus", []string{`unknown command "bogus"`, "conch --help"}},
		{"migrate bogus", []string{`unknown command "bogus"`, "conch migrate --help"}},
		{"help bogus", []string{`unknown command "bogus"`}},
		{"migrate", []string{"up, down, grants, status, advance"}},
		{"status --bogus", []string{"unknown flag --bogus", "conch status --help"}},
		{"status -x", []string{"unknown flag -x"}},
		{"status extra", []string{`"conch status" takes no argument`, "did you mean --scope extra?"}},
		{"--db", []string{"--db needs a value"}},
		{"--db= status", []string{"--db is empty"}},
		{"--log-level loud status", []string{"loud", "debug, info, warn, error"}},
		{"--log-format xml status", []string{"xml", "text nor json"}},
		{"history --limit many", []string{`--limit "many" is not a whole number`}},
		{"history --limit 0", []string{"--limit 0"}},
		{"history --limit -3", []string{"--limit -3"}},
		{"migrate advance", []string{"--scope", "--epoch"}},
		{"migrate advance --scope s", []string{"--epoch"}},
		{"migrate advance --all", []string{"--epoch"}},
		{"migrate advance --all --scope s --epoch 7", []string{"--scope", "--all"}},
		{"migrate grants --node=", []string{"no name of a role"}},
		{"migrate grants --fence a'b", []string{"no name of a role"}},
		{"migrate up --print --json", []string{"leave --json out"}},
		{"scope", []string{"forget"}},
		{"identity", []string{"new, show"}},
		{"policy", []string{"set, list, show, delete"}},
		{"policy set", []string{"takes one file"}},
		{"policy show a b", []string{"takes one token"}},
		{"scope forget", []string{"takes one scope"}},
		{"migrate advance --scope s --epoch 1.5", []string{`--epoch "1.5" is not a whole number`}},
		{"migrate advance --scope s --epoch 0", []string{"--epoch 0"}},
		{"migrate advance --scope s --epoch 9223372036854775808", []string{"is not a whole number"}},
		{"status --scope=", []string{"scope is empty"}},
		{"history --scope=", []string{"scope is empty"}},
		{"watch --scope=", []string{"scope is empty"}},
		{"migrate advance --scope= --epoch 7", []string{"scope is empty"}},
		{"status --scope " + strings.Repeat("é", 101), []string{"202 bytes", "200 are allowed"}},
		{"cron --scope s -- true", []string{"cron needs --slot"}},
		{"cron --scope s --slot 3s -- true", []string{"--slot 3s is not between 10s and"}},
		{"cron --scope s --slot 5m --within 3m -- true", []string{"--within 3m0s", "half of the slot"}},
		{"cron --slot 5m -- true", []string{"cron needs --scope", "conch cron --scope S -- true"}},
		{"gate", []string{"gate needs --scope"}},
		{"gate --scope s --door ajar", []string{`--door "ajar" is neither act nor fenced`}},
		{"demo --nodes 0", []string{"--nodes 0"}},
		{"demo --nodes few", []string{`--nodes "few" is not a whole number`}},
		{"demo --duration 60", []string{`--duration "60" is not a duration such as`}},
		{"demo --duration 0s", []string{"--duration must be positive"}},
		{"demo --kill-every 1m", []string{"leaves no time for a kill"}},
		{"demo --kill-every 10ms", []string{"is shorter than"}},
		{"demo --kill-every -5s", []string{"must not be negative"}},
		{"demo --lease 10ms", []string{"--lease 10ms is not between"}},
		{"chaos --faults 0", []string{"--faults 0 is not 1 or more"}},
		{"chaos --nodes 1", []string{"--nodes 1 is not between 2 and 20"}},
		{"chaos --lease 100ms", []string{"--lease 100ms is not between"}},
		{"chaos --takeover maybe", []string{`--takeover "maybe" is none of`}},
		{"chaos --only flood", []string{`--only "flood" is none of`, "stop-long"}},
		{"chaos --duration -1s", []string{"--duration must not be negative"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.args)
			if !strings.Contains(c.args, "--db") && args[0] != "demo" && args[0] != "chaos" {
				args = append([]string{db}, args...)
			}
			r := conch(t, args...)
			r.refused(t, 2, c.says...)
			if strings.Contains(r.err, "hunter2") {
				t.Error("the message contains the password")
			}
		})
	}
	for _, command := range []string{"demo", "chaos"} {
		conch(t, db, command).refused(t, 2, "private database", "leave --db out")
	}
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	if conn, err := pgx.Connect(t.Context(), ""); err == nil {
		_ = conn.Close(t.Context())
		t.Skip("a database answers at the usual place, so its absence cannot be tested")
	}
	for _, args := range []string{"status", "history", "watch", "migrate up", "migrate status", "migrate down"} {
		conch(t, strings.Fields(args)...).refused(t, 2, "no database: give --db URL or set CONCH_DB_URL")
	}
	conch(t, "status").refused(t, 2, "asked of a node, with --gossip or --logs")
	conch(t, "doctor").refused(t, 2, "looked at with --config")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	bare := conch(t).done(t)
	if !strings.Contains(bare, "Available Commands:") || bare != conch(t, "--help").done(t) || bare != conch(t, "help").done(t) {
		t.Errorf("conch alone prints %q, want the help, as with --help and help", bare)
	}
	for _, command := range []string{
		"cron", "demo", "doctor", "gate", "history", "identity new", "identity show", "migrate", "migrate up", "migrate down", "migrate grants", "migrate status", "migrate advance", "scope forget", "status", "version", "watch",
	} {
		text := conch(t, append(strings.Fields(command), "--help")...).done(t)
		if !strings.Contains(text, "Examples:\n  conch ") {
			t.Errorf("the help of %q has no example", command)
		}
		last := command[strings.LastIndexByte(command, ' ')+1:]
		if !strings.Contains(bare, last) && !strings.Contains(command, " ") {
			t.Errorf("the help does not list %q", command)
		}
	}
	for _, hidden := range []string{"demo-node", "chaos", "bench", "sim"} {
		if strings.Contains(bare, "  "+hidden+" ") {
			t.Errorf("the help lists %s, want it hidden", hidden)
		}
	}
	of := call(t, exec.Command(laboratory)).done(t)
	for _, command := range []string{"bench", "chaos", "demo", "sim"} {
		if !strings.Contains(of, "  "+command+" ") || !strings.Contains(conch(t, command, "--help").done(t), "Examples:\n  conch") {
			t.Errorf("the laboratory's help is %q, and does not list %s, or that has no example", of, command)
		}
	}
	if strings.Contains(of, "demo-node") || strings.Contains(of, "chaos-child") || strings.Contains(of, "migrate") {
		t.Errorf("the laboratory's help is %q, want its workers hidden, and no command of conch", of)
	}
}

// No example connects as a role called conch: tables that such a role creates without a schema
// name land in the schema conch.
func TestNoExampleIsARoleCalledConch(t *testing.T) {
	t.Parallel()
	shown := map[string]string{"--db without a URL": conch(t, "--db=", "status").err}
	for _, command := range []string{"", "bench", "doctor", "drain", "migrate up", "node", "run", "status"} {
		shown["conch "+command] = conch(t, append(strings.Fields(command), "--help")...).done(t)
	}
	for _, pattern := range []string{"README.md", "docs/*.md", "examples/*", "examples/*/*", "deploy/*"} {
		files, err := filepath.Glob(filepath.FromSlash("../../" + pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			if about, err := os.Stat(file); err == nil && about.IsDir() {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			shown[file] = string(text)
		}
	}
	for where, text := range shown {
		if strings.Contains(text, "://conch@") || strings.Contains(text, "://conch:") {
			t.Errorf("%s shows a role called conch, want another", where)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	text := conch(t, "version").done(t)
	for _, part := range []string{"conch 9.8.7", "commit abcdef0", "schema "} {
		if !strings.Contains(text, part) {
			t.Errorf("version prints %q, want %q in it", text, part)
		}
	}
	var v struct {
		Version, Commit string
		Schema          struct{ Min, Max int }
	}
	if err := json.Unmarshal([]byte(conch(t, "version", "--json").done(t)), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != "9.8.7" || v.Commit != "abcdef0" || v.Schema.Min < 1 || v.Schema.Max < v.Schema.Min {
		t.Errorf("version --json prints %+v, want 9.8.7 and a range of schemas", v)
	}
}

func TestTheLogCanBeJSON(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, level := range []string{"debug", "info", "warn", "error"} {
		r := conch(t, "--db", db.URL, "--log-format", "json", "--log-level", level, "status")
		r.done(t)
		for line := range strings.Lines(r.err) {
			if !json.Valid([]byte(line)) {
				t.Errorf("with --log-level %s the log has the line %q, want JSON", level, line)
			}
		}
	}
}

// Typical mistakes on the command line get a helpful message.
func TestWhatNewcomersType(t *testing.T) {
	t.Parallel()
	// Nothing listens there: a mistake must be seen before the database is used.
	const db = "--db=postgres://127.0.0.1:1/app"
	for _, c := range []struct {
		args string
		env  []string
		says string
	}{
		{"runn", nil, `unknown command "runn": did you mean run?`},
		{"runn --scope x -- true", nil, `unknown command "runn": did you mean run?`},
		{"--scope x runn -- true", nil, `unknown command "runn": did you mean run?`},
		{"migrate upp --to 3", nil, `unknown command "upp": did you mean up? "conch migrate --help" lists all`},
		{"migrate --db postgres://h upp --to 3", nil, `unknown command "upp": did you mean up?`},
		{"start --config x", nil, `did you mean node or run?`},
		{"leader", nil, `did you mean status?`},
		{"help stats", nil, `unknown command "stats": did you mean status?`},
		{"zzzzzz --scope x", nil, `unknown command "zzzzzz": "conch --help" lists all`},
		{"--scope x", nil, `unknown flag --scope`},
		{"status --scop x", nil, `unknown flag --scop: did you mean --scope?`},
		{"ps", nil, `unknown command "ps": did you mean status? "conch`},
		{"--db status", nil, `--db needs a value, and "status" is a command: write --db URL status`},
		{"status crons", nil, `"conch status" takes no argument: did you mean --scope crons?`},
		{"drain crons --timeout 3s", nil, `did you mean --scope crons?`},
		{"status --scope a b", nil, `takes no argument, and "b" is one`},
		{"node conch.toml", nil, `"conch node" takes no argument: did you mean --config conch.toml?`},
		{"config check x.toml", nil, `did you mean --config x.toml?`},
		{"node --config nowhere/conch.toml", nil, `there is no configuration nowhere/conch.toml: name the file with --config`},
		{"status -json", nil, "unknown flag -json: did you mean --json?"},
		{"run --scope s -lease 3s -- true", nil, "unknown flag -lease: did you mean --lease?"},
		{"run", nil, "run needs a command after its flags: conch run --scope S -- CMD"},
		{"run ./worker.py x", nil, "run needs --scope, a name for what only one may do at a time: conch run --scope S -- ./worker.py x"},
		{"run crons -- true", nil, "run needs --scope: did you mean conch run --scope crons -- true?"},
		{"run --scope -- true", nil, "--scope needs a value, and -- is none"},
		{"run --scope --id one -- true", nil, "--scope needs a value, and --id is none"},
		{"run --scope s -- ./nosuch.sh", nil, "conch: ./nosuch.sh cannot be run: no such file or directory\n"},
		{"run --scope s -- nosuch-program", nil, "nosuch-program cannot be run: executable file not found in $PATH\n"},
		{"run --scope s --lease 3ms -- true", nil, "--lease 3ms is not between 200ms and 10m0s"},
		{"run --scope s -- true", []string{"CONCH_LEASE_MS=3"}, "CONCH_LEASE_MS=3 (3ms) is not between 200ms and 10m0s"},
		{"run --scope s --lease 7ms -- true", []string{"CONCH_LEASE_MS=3000"}, "--lease 7ms is not between"},
		{"run --scope s --locks foo -- true", nil, `--locks "foo" is neither session nor process`},
		{"run --scope s --takeover foo -- true", nil, `--takeover "foo" is none of strict, fast, keep`},
		{"status --db mysql://h/d", nil, "it begins with mysql://, and conch works with PostgreSQL alone: write postgres://"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.args)
			if !strings.Contains(c.args, "--db") {
				args = append([]string{db}, args...)
			}
			cmd := prepared(t, args...)
			cmd.Env = append(cmd.Env, c.env...)
			call(t, cmd).refused(t, 2, c.says)
		})
	}
}

func TestHistoryOfAScopeThatIsNone(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, command := range []string{"history", "status"} {
		text := conch(t, command, "--db", db.URL, "--scope", "nosuch").done(t)
		if !strings.Contains(text, `nobody has ever led "nosuch"`) || !strings.Contains(text, "conch status") {
			t.Errorf("%s prints %q, want that nobody has ever led it, and a hint", command, text)
		}
	}
	if text := conch(t, "history", "--db", db.URL).done(t); text != "leadership has never changed hands here\n" {
		t.Errorf("history prints %q, want that leadership has never changed hands", text)
	}
}

// The quickstart's pattern finds the conch run that it means, however it was started, and neither another one nor a keeper.
func TestTheQuickstartKillsTheLeader(t *testing.T) {
	t.Parallel()
	_, pattern, found := strings.Cut(tree(t, "docs/quickstart.md"), "kill -9 $(pgrep -f '")
	pattern, _, _ = strings.Cut(pattern, "'")
	means, err := regexp.Compile(pattern)
	if err != nil || !found {
		t.Fatalf("the quickstart has no pattern: %v", err)
	}
	for line, want := range map[string]bool{
		"conch run --scope mailer --id node-1 -- sh worker.sh":                true,
		"/usr/local/bin/conch run --scope mailer --id node-1 -- sh worker.sh": true,
		"bin/conch run --scope mailer --id node-1 -- sh worker.sh":            true,
		"conch run --scope mailer --id node-10 -- sh worker.sh":               false,
		"conch run --scope mailer --id node-2 -- sh worker.sh":                false,
		"conch keeper --grace 750ms --group 0 -- sh worker.sh":                false,
		"vim conch run --scope mailer --id node-1 -- sh worker.sh":            false,
	} {
		if means.MatchString(line) != want {
			t.Errorf("the pattern %s finds %q: %v, want %v", pattern, line, !want, want)
		}
	}
	if unit := tree(t, "deploy/conch-run@.service"); strings.Contains(unit, "--id") || !strings.Contains(unit, "systemctl kill --kill-who=main --signal=KILL conch-run@mailer") {
		t.Error("the unit names its process, or lacks the command that kills it")
	}
}

// The pages show the versions of the schema that conch migrate up prints.
func TestPagesShowTheVersionsOfTheSchema(t *testing.T) {
	t.Parallel()
	out := strings.Split(strings.TrimSpace(conch(t, "--db", migrated(t).URL, "migrate", "up").done(t)), "\n")
	want := out[len(out)-1]
	shown := regexp.MustCompile(`schema \d+ of \d+, [^\n]+ of \d+`)
	for _, page := range []string{"README.md", "docs/quickstart.md", "docs/operations.md"} {
		lines := shown.FindAllString(tree(t, page), -1)
		if len(lines) == 0 {
			t.Errorf("%s does not show what conch migrate up prints last", page)
		}
		for _, line := range lines {
			if line != want {
				t.Errorf("%s shows %q, and conch migrate up prints %q", page, line, want)
			}
		}
	}
}

func TestTheVersionByAFlag(t *testing.T) {
	t.Parallel()
	want := conch(t, "version").done(t)
	for _, flag := range []string{"--version", "-v"} {
		if got := conch(t, flag).done(t); got != want {
			t.Errorf("%s prints %q, want %q", flag, got, want)
		}
	}
}

// The default that --help shows is the real one.
func TestHelpNamesTheTrueLogLevel(t *testing.T) {
	t.Parallel()
	for command, level := range map[string]string{"node": "info", "run": "warn", "status": "warn"} {
		text := conch(t, command, "--help").done(t)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "--log-level") && !strings.Contains(line, `(default "`+level+`")`) {
				t.Errorf("%s --help shows %s, want the command's default", command, line)
			}
		}
		if strings.Count(text, "--log-level") != 1 {
			t.Errorf("%s --help names --log-level %d times, want once", command, strings.Count(text, "--log-level"))
		}
	}
}
