package keeper_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
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
	"github.com/conchhq/conch/internal/runtest"
)

// ended is how one call of conch run ended.
type ended struct {
	out, err string
	code     int
}

// sh returns a run of a shell script that has not started.
func sh(t *testing.T, db *pgtest.DB, script string, args ...string) *exec.Cmd {
	t.Helper()
	return conch(t, db, append(append([]string{"--scope", "s", "--id", "me", "--lease", "1s"}, args...), "--", "sh", "-c", script)...)
}

// idle makes a script wait for its traps. A loop of short sleeps would not do: dash silently drops
// a signal that comes during vfork. The sleep dies of most signals, so as not to outlive the script.
const idle = `while :; do sleep 1000 & wait; done`

func call(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	r := result(t, cmd)
	if pids := marked(t); len(pids) > 0 {
		t.Errorf("processes %v outlive conch", pids)
	}
	return r
}

func result(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	code := proctest.Start(t, cmd).Wait(patience)
	return ended{out.String(), words.String(), code}
}

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

// Conch ends with its command's code or signal, and releases the leadership.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	scripts := map[string]int{
		"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137, "kill -TERM $$": 143,
		// Conch kills what the command leaves running, even if it ignores SIGTERM.
		"(trap '' TERM; sleep 60) & exit 3":                    3,
		"setsid sh -c 'trap \"\" TERM HUP; sleep 60' & exit 4": 4,
	}
	for i, script := range slices.Sorted(maps.Keys(scripts)) {
		want := scripts[script]
		for j, args := range [][]string{nil, {"--fenced"}, {"--isolate"}} {
			if i%3 != j && !runtest.Nightly() { // by day each script once
				continue
			}
			t.Run(strings.Join(append(args, script), " "), func(t *testing.T) {
				t.Parallel()
				db := pgtest.New(t)
				// A heartbeat that is late on a busy machine is logged, and ends the command.
				r := call(t, sh(t, db, script, append([]string{"--lease", "3s"}, args...)...))
				if r.code != want || r.err != "" || r.out != "" {
					t.Errorf("exit code %d, want %d: %q %q", r.code, want, r.out, r.err)
				}
				if got := events(t, db); got != "acquired released" {
					t.Fatalf("history: got %s, want acquired released", got)
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
	cmd := sh(t, db, `cat; echo "$CONCH_SCOPE $CONCH_EPOCH $CONCH_ID $CONCH_TERM $CONCH_DB_URL"; echo trouble >&2; [ -e /proc/$$/fd/3 ] || [ -e /proc/$$/fd/4 ] && echo leak || echo tight`, "--lease", "3s") // a late heartbeat would be logged
	cmd.Stdin = strings.NewReader("from outside\n")
	r := call(t, cmd)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || r.err != "trouble\n" || len(lines) != 3 {
		t.Fatalf("%+v", r)
	}
	words := strings.Fields(lines[1])
	if lines[0] != "from outside" || len(words) != 5 || words[0] != "s" || words[1] != "1" || words[2] != "me" || len(words[3]) != 36 || words[4] != db.URL {
		t.Errorf("the command got %q", lines[:2])
	}
	if lines[2] != "tight" {
		t.Error("the command has the keeper's pipes to conch")
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
		t.Errorf("conch led although the command cannot run: %s", got)
	}
}

// With --restart the command is restarted in one term, with growing pauses.
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
		t.Errorf("four starts within %s, want at least 1.4s", took)
	}
	p.send(unix.SIGTERM)
	if code := p.end(); code != 0 && code != 9 && code != 128+int(unix.SIGTERM) { // if the signal hit the command
		t.Errorf("exit code %d, want 0, 9 or 143", code)
	}
	if got := events(t, db); got != "acquired released" {
		t.Errorf("history: got %s, want acquired released", got)
	}
}

// Signals are forwarded, SIGTSTP and SIGCONT included.
func TestSignalsAreForwarded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// No deadline comes while conch is stopped, so the lease must be longer than that.
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
		t.Errorf("exit code %d, want 143", code)
	}
}

// Conch kills a keeper that has been stopped, and the command dies with it.
func TestKeeperStopped(t *testing.T) {
	runtest.LongRun(t)
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
			p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "300ms", "--lease", "3s"))
			p.says("epoch 1") // a busy machine does not lose a lease of three seconds before the command prints
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
				t.Errorf("exit code %d, want 137", code)
			}
		})
	}
}
