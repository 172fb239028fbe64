package keeper_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// ended is how one call of conch run ended.
type ended struct {
	out, err string
	code     int
}

// sh is a run of a shell script that has not begun.
func sh(t *testing.T, db *pgtest.DB, script string, args ...string) *exec.Cmd {
	t.Helper()
	return conch(t, db, append(append([]string{"--scope", "s", "--id", "me", "--lease", "1s"}, args...), "--", "sh", "-c", script)...)
}

// idle is how a script waits for its traps. Not by a loop of short sleeps: a signal that
// comes while dash is in vfork is dropped by it, without a word. What it waits for dies
// of most signals, or it would go on when the script has ended.
const idle = `while :; do sleep 1000 & wait; done`

func call(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	code := proctest.Start(t, cmd).Wait(patience)
	if pids := marked(t); len(pids) > 0 {
		t.Errorf("processes %v outlive conch", pids)
	}
	return ended{out.String(), words.String(), code}
}

// events is the history of a scope, in words.
func events(t *testing.T, db *pgtest.DB) string {
	t.Helper()
	var words []string
	for _, e := range history(t, db) {
		words = append(words, e.Event)
	}
	return strings.Join(words, " ")
}

func history(t *testing.T, db *pgtest.DB) []pgops.Event {
	t.Helper()
	ctx := context.Background()
	o, err := pgops.Observe(ctx, pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	all, err := o.History(ctx, "s", 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The command's end is conch's: its code, its signal; and leadership is released.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137, "kill -TERM $$": 143,
		// What it leaves running is ended, whatever that thinks of it.
		"(trap '' TERM; sleep 60) & exit 3":                    3,
		"setsid sh -c 'trap \"\" TERM HUP; sleep 60' & exit 4": 4,
	} {
		for _, args := range [][]string{nil, {"--fenced"}, {"--isolate"}} {
			t.Run(strings.Join(append(args, script), " "), func(t *testing.T) {
				t.Parallel()
				db := pgtest.New(t)
				// A heartbeat that a busy machine answers late is told of, and makes the command end.
				r := call(t, sh(t, db, script, append([]string{"--lease", "3s"}, args...)...))
				if r.code != want || r.err != "" || r.out != "" {
					t.Errorf("exit code %d, want %d: %q %q", r.code, want, r.out, r.err)
				}
				if got := events(t, db); got != "acquired released" {
					t.Fatalf("history: %s", got)
				}
				why := fmt.Sprintf("stepping down: the command ended with code %d", want)
				if strings.HasPrefix(script, "kill") && !slices.Contains(args, "--isolate") {
					why = fmt.Sprintf("stepping down: the command was ended by signal %d", want-128)
				}
				if got := history(t, db)[1].Reason; got != why {
					t.Errorf("the history says %q, want %q", got, why)
				}
			})
		}
	}
}

func TestWhatTheCommandGets(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cmd := sh(t, db, `cat; echo "$CONCH_SCOPE $CONCH_EPOCH $CONCH_ID $CONCH_TERM $CONCH_DB_URL"; echo trouble >&2; [ -e /proc/$$/fd/3 ] || [ -e /proc/$$/fd/4 ] && echo leak || echo tight`, "--lease", "3s") // a late heartbeat would be told of
	cmd.Stdin = strings.NewReader("from outside\n")
	r := call(t, cmd)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || r.err != "trouble\n" || len(lines) != 3 {
		t.Fatalf("%+v", r)
	}
	words := strings.Fields(lines[1])
	if lines[0] != "from outside" || len(words) != 5 || words[0] != "s" || words[1] != "1" || words[2] != "me" || len(words[3]) != 36 || words[4] != db.URL {
		t.Errorf("it got %q", lines[:2])
	}
	if lines[2] != "tight" {
		t.Error("it got the keeper's lines to conch")
	}
}

func TestNothingToRun(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	plain := filepath.Join(t.TempDir(), "plain")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--scope", "s", "--", "no-such-command"}, "no-such-command cannot be run"},
		{[]string{"--scope", "s", "--", plain}, "cannot be run"},
		{[]string{"--scope", "s"}, "needs a command"},
		{[]string{"--", "true"}, "run needs --scope"},
		{[]string{"--scope", "s", "--takeover", "maybe", "--", "true"}, "none of strict, fast, keep"},
		{[]string{"--scope", "s", "--lease", "1ms", "--", "true"}, "--lease 1ms is not between"},
		{[]string{"--scope", "s", "--kill-grace", "2s", "--", "true"}, "--kill-grace 2s"},
		{[]string{"--scope", "s", "--stop-grace", "-1s", "--", "true"}, "--stop-grace"},
		{[]string{"--scope", "s", "--id", "a:b", "--", "true"}, "contains ':'"},
	} {
		r := call(t, conch(t, db, c.args...))
		if r.code != 2 || !strings.Contains(r.err, c.says) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	if got := events(t, db); got != "" {
		t.Errorf("it was led for nothing: %s", got)
	}
	cmd := conch(t, db, "--scope", "s", "--db", "postgres://x:hunter2@127.0.0.1:1/x", "--", "true")
	if r := call(t, cmd); r.code != 1 || strings.Contains(r.err, "hunter2") {
		t.Errorf("a database that is away: %+v", r)
	}
}

// Started again and again, with growing pauses, in one term.
func TestRestart(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `echo "in epoch $CONCH_EPOCH"; exit 9`, "--restart", "--lease", "3s"))
	p.says("in epoch 1")
	began := time.Now()
	for range 3 {
		p.says("in epoch 1")
	}
	if took := time.Since(began); took < (200+400+800)*time.Millisecond {
		t.Errorf("four starts within %s", took)
	}
	p.send(unix.SIGTERM)
	if code := p.end(); code != 0 && code != 9 && code != 128+int(unix.SIGTERM) { // if it was hit while it ran
		t.Errorf("exit code %d", code)
	}
	if got := events(t, db); got != "acquired released" {
		t.Errorf("history: %s", got)
	}
}

// Signals go through, a stop and its end included.
func TestSignalsAreForwarded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// Its deadline is near while conch is stopped: the lease is longer than that takes.
	p := begin(t, sh(t, db, `for s in USR1 USR2 HUP QUIT WINCH; do trap "echo got $s" $s; done; echo up; `+idle, "--lease", "9s"))
	p.says("up")
	for name, sig := range map[string]unix.Signal{"USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "HUP": unix.SIGHUP, "QUIT": unix.SIGQUIT, "WINCH": unix.SIGWINCH} {
		p.send(sig)
		p.says("got " + name)
	}
	main := child(t, child(t, p.Cmd.Process.Pid))
	p.send(unix.SIGTSTP)
	pgtest.Eventually(t, patience, "both are stopped", func() bool { return state(main) == "T" && state(p.Cmd.Process.Pid) == "T" })
	p.send(unix.SIGCONT)
	p.send(unix.SIGUSR1)
	p.says("got USR1")
	p.send(unix.SIGTERM)
	if code := p.end(); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

// A keeper that somebody stopped cannot keep: conch kills it, and the command
// dies with it.
func TestKeeperStopped(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(p *process, db *pgtest.DB){
		"asked to end": func(p *process, _ *pgtest.DB) { p.send(unix.SIGTERM) },
		"no heartbeats": func(p *process, db *pgtest.DB) {
			_, err := db.Connect(p.T).Exec(p.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
			if err != nil {
				p.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "300ms"))
			p.says("epoch 1")
			keeper := child(t, p.Cmd.Process.Pid)
			main := child(t, keeper)
			_ = unix.Kill(keeper, unix.SIGSTOP)
			fault(p, db)
			pgtest.Eventually(t, patience, "the command is dead", func() bool { return state(main) == "" })
			if name == "no heartbeats" {
				p.says("epoch 2")
				p.send(unix.SIGTERM)
			}
			if code := p.end(); code != 137 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
