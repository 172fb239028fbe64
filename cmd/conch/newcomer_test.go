package main_test

import (
	"regexp"
	"strings"
	"testing"
)

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
