package keeper_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// When conch is asked to end, it asks the command to end, leads until then, and releases.
func TestDrainInOrder(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]unix.Signal{"TERM": unix.SIGTERM, "INT": unix.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			// Its end takes longer than a lease, so longer than any deadline reaches. A lease of one
			// second would not outlast the stalls of a busy machine.
			p := begin(t, sh(t, db, `trap 'sleep 4; echo bye; exit 5' `+name+`; echo up; `+idle, "--restart", "--lease", "3s"))
			p.says("up")
			p.send(sig)
			p.says("bye")
			if code := p.end(); code != 5 {
				t.Errorf("exit code %d, want 5", code)
			}
			if got := events(t, db); got != "acquired released" {
				t.Errorf("history: got %s, want acquired released", got)
			}
		})
	}
}

// If the operator gives it time, a drained command may take longer than a lease to end, since its
// term is renewed until then. (F6)
func TestDrainedForLongerThanALease(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap 'sleep 4; echo "bye $CONCH_EPOCH"; exit 0' TERM; echo "epoch $CONCH_EPOCH"; `+idle, "--lease", "3s"))
	p.says("epoch 1")
	main := child(t, child(t, p.Cmd.Process.Pid))
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test", Timeout: 30 * time.Second}, func(string) {})
	if s := state(main); s != "" || err != nil {
		t.Errorf("after the drain the command is in state %q, want none: %v", s, err)
	}
	p.says("bye 1") // it took longer than its lease
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	p.says("bye 2")
	_ = p.end()
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: got %s, want acquired drained acquired released", got)
	}
}

// If the operator gives no timeout, --stop-grace is the command's time to end, and time is left to
// kill it. (F6)
func TestDrainedWithoutATimeout(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "3s", "--lease", "3s"))
	p.says("epoch 1")
	began := time.Now()
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test"}, func(string) {})
	if took := time.Since(began); err != nil || took < 2900*time.Millisecond || took > patience {
		t.Errorf("the command had %s to end, want 3s: %v", took, err)
	}
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	if code := p.end(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: got %s, want acquired drained acquired released", got)
	}
	if got := history(t, db)[3].Reason; got != "stepping down" {
		t.Errorf("the reason for the release is %q, want \"stepping down\"", got)
	}
}

// A drain does not report success if the leader is deposed meanwhile.
func TestDrainedAndDeposed(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	// The lease outlasts a stall of the machine, by which the term would be lost, not deposed.
	p := begin(t, sh(t, db, `trap 'echo asked; sleep 1000' TERM; echo "epoch $CONCH_EPOCH"; `+idle, "--lease", "3s"))
	p.says("epoch 1")
	answer := make(chan error, 1)
	go func() {
		_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test", Timeout: 30 * time.Second}, func(string) {})
		answer <- err
	}()
	p.says("asked")
	if _, err := db.Connect(t).Exec(t.Context(), `SELECT conch.advance('s', 1000, 'test')`); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err == nil || !strings.Contains(err.Error(), "deposed") {
		t.Errorf("the drain of a deposed leader returns the error %v, want \"deposed\"", err)
	}
	p.says("epoch 1001")
	p.send(unix.SIGTERM)
	p.says("asked") // two signals in a row may be delivered as one
	p.send(unix.SIGTERM)
	_ = p.end()
	if got := events(t, db); got != "acquired evicted acquired released" {
		t.Errorf("history: got %s, want acquired evicted acquired released", got)
	}
}

// A drained command that does not end is killed by the deadline. Only then does conch release
// the scope and campaign again.
func TestDrainedFromOutside(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "300ms", "--lease", "20s"))
	p.says("epoch 1")
	main := child(t, child(t, p.Cmd.Process.Pid))
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test", Timeout: 20 * time.Second}, func(string) {})
	if s := state(main); s != "" || err != nil {
		t.Errorf("after the drain the command is in state %q, want none: %v", s, err)
	}
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	if code := p.end(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: got %s, want acquired drained acquired released", got)
	}
}

// A command that does not end when asked is killed: at the second signal, or after --stop-grace.
func TestDrainTheUnwilling(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"second signal": nil, "time is up": {"--stop-grace", "300ms"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			p := begin(t, sh(t, db, `trap 'echo no' TERM; echo up; `+idle, append([]string{"--lease", "3s"}, args...)...))
			p.says("up")
			p.send(unix.SIGTERM)
			p.says("no")
			if args == nil {
				p.send(unix.SIGTERM)
			}
			if code := p.end(); code != 137 {
				t.Errorf("exit code %d, want 137", code)
			}
			if got := events(t, db); got != "acquired released" {
				t.Errorf("history: got %s, want acquired released", got)
			}
		})
	}
}

// A follower that is asked to end has no command to end.
func TestDrainAFollower(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	leader := begin(t, sh(t, db, `echo up; cat`))
	leader.says("up")
	p := begin(t, sh(t, db, `echo never`, "--id", "other"))
	pgtest.Eventually(t, patience, "the follower has registered", func() bool { return strings.Contains(candidates(t, db), "other") })
	p.send(unix.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	_ = leader.stdin.Close()
	if code := leader.end(); code != 0 {
		t.Errorf("the leader's exit code is %d, want 0", code)
	}
}

func candidates(t *testing.T, db *pgtest.DB) string {
	t.Helper()
	o, err := pgops.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	all, err := o.Scopes(t.Context(), "s")
	if err != nil || len(all) == 0 {
		return ""
	}
	return strings.Join(all[0].Candidates, " ")
}

// late sets how long after a heartbeat the leader's gate shuts, in milliseconds.
const late = "CONCH_HEARTBEAT_LATE_THRESHOLD_MS="

// A gate that shuts after two heartbeats leaves less than a quarter of the lease to end a command:
// the command is asked later, and runs on from heartbeat to heartbeat.
func TestLateAtTwoHeartbeats(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	// With a lease of 9 s, a heartbeat that is sent as late as allowed has 900 ms to be answered.
	cmd := sh(t, db, `echo "epoch $CONCH_EPOCH"; `+idle, "--lease", "9s")
	cmd.Env = append(cmd.Env, late+"3600")
	p := begin(t, cmd)
	p.says("epoch 1")
	conn := db.Connect(t)
	var last time.Time
	beats := 0
	pgtest.Eventually(t, patience, "heartbeats in the first epoch", func() bool {
		var epoch int64
		var at time.Time
		if err := conn.QueryRow(context.Background(), `SELECT epoch, beat_at FROM conch.heartbeat WHERE scope = 's'`).Scan(&epoch, &at); err != nil {
			t.Fatal(err)
		}
		if epoch != 1 {
			t.Fatalf("epoch %d, want 1: the command was ended although heartbeats came", epoch)
		}
		if at.After(last) {
			beats, last = beats+1, at
		}
		return beats > 2 // the first comes with the election
	})
	if got := events(t, db); got != "acquired" {
		t.Errorf("history: got %s, want acquired", got)
	}
}

// A gate that shuts too soon to end a command between two heartbeats is refused, and so is a grace
// that leaves the next heartbeat no time: the command would never run, or end at each heartbeat.
func TestNoTimeToEnd(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	for _, c := range []struct {
		args []string
		env  string
		says []string
	}{
		{nil, late + "740", []string{"late threshold", "by 300ms or more"}},
		{[]string{"--kill-grace", "100ms"}, late + "740", []string{"late threshold", "by 300ms or more"}},
		{[]string{"--kill-grace", "200ms"}, late + "1200", []string{"--kill-grace 200ms is not between 20ms and 180ms"}},
		{[]string{"--kill-grace", "1500ms"}, "CONCH_HEARTBEAT_INTERVAL_MS=1300", []string{"--kill-grace 1.5s is not between 20ms and 840ms"}},
	} {
		cmd := conch(t, db, append(append([]string{"--scope", "s", "--lease", "3s"}, c.args...), "--", "true")...)
		cmd.Env = append(cmd.Env, c.env)
		r := call(t, cmd)
		for _, part := range c.says {
			if r.code != 2 || !strings.Contains(r.err, part) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%s %v: %+v does not say %q", c.env, c.args, r, part)
			}
		}
	}
	if got := events(t, db); got != "" {
		t.Errorf("conch led although the command cannot run: %s", got)
	}
}

// full returns a pipe that takes nothing more: its reader has stopped to read.
func full(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = pipe(t)
	fd := int(writer.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{4096, 1} {
		for junk := []byte(strings.Repeat("\n", size)); ; {
			if _, err := unix.Write(fd, junk); err != nil {
				break
			}
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	return reader, writer
}

// deposes ends the sessions that hold locks, so that who leads has something to log and leads anew.
func deposes(t *testing.T, db *pgtest.DB) {
	t.Helper()
	const terminate = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	if _, err := db.Connect(t).Exec(t.Context(), terminate); err != nil {
		t.Fatal(err)
	}
}

// Whatever is wrong with the reader of the log, conch leads on, ends in order, and releases.
func TestALogWithoutAReader(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]func(*testing.T) *os.File{
		"its reader is gone": func(t *testing.T) *os.File {
			t.Helper()
			reader, writer := pipe(t)
			_ = reader.Close()
			return writer
		},
		"its reader has stopped": func(t *testing.T) *os.File {
			t.Helper()
			_, writer := full(t)
			return writer
		},
		"its disk is full": func(t *testing.T) *os.File {
			t.Helper()
			file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return file
		},
		"its terminal has hung up": func(t *testing.T) *os.File {
			t.Helper()
			s := newScreen(t)
			_ = s.master.Close()
			return s.line
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			cmd := sh(t, db, `echo "epoch $CONCH_EPOCH"; exec sleep 1000`, "--log-level", "info", "--lease", "3s")
			cmd.Stderr = log(t)
			p := begin(t, cmd)
			p.says("epoch 1")
			deposes(t, db)
			p.says("epoch 2")
			p.send(unix.SIGTERM)
			if code := p.end(); code != 143 {
				t.Errorf("exit code %d, want 143", code)
			}
			if got := events(t, db); !strings.HasSuffix(got, "released") {
				t.Errorf("history: got %s, want released at the end", got)
			}
		})
	}
}
