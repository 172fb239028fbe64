package keeper_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Asked to end, conch asks the command, leads while it ends, and releases after.
func TestDrainInOrder(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]unix.Signal{"TERM": unix.SIGTERM, "INT": unix.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			// It takes longer than a lease to end: longer than any deadline reaches. A lease
			// of a second would not outlast the stalls of a busy machine meanwhile.
			p := begin(t, sh(t, db, `trap 'sleep 4; echo bye; exit 5' `+name+`; echo up; `+idle, "--restart", "--lease", "3s"))
			p.says("up")
			p.send(sig)
			p.says("bye")
			if code := p.end(); code != 5 {
				t.Errorf("exit code %d", code)
			}
			if got := events(t, db); got != "acquired released" {
				t.Errorf("history: %s", got)
			}
		})
	}
}

// Drained by an operator who has time: the command may take longer than any deadline
// reached when it was asked, since its term is renewed until it has ended. (F6)
func TestDrainedForLongerThanALease(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap 'sleep 4; echo "bye $CONCH_EPOCH"; exit 0' TERM; echo "epoch $CONCH_EPOCH"; `+idle, "--lease", "3s"))
	p.says("epoch 1")
	main := child(t, child(t, p.Cmd.Process.Pid))
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test", Timeout: 30 * time.Second}, func(string) {})
	if s := state(main); s != "" || err != nil {
		t.Errorf("drained, and the command is in state %q: %v", s, err)
	}
	p.says("bye 1") // it had more than its lease
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	p.says("bye 2")
	_ = p.end()
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: %s", got)
	}
}

// Drained by an operator who does not say how long it may take: --stop-grace does, and
// leaves time to kill a command that will not end. (F6)
func TestDrainedWithoutATimeout(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "3s", "--lease", "3s"))
	p.says("epoch 1")
	began := time.Now()
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test"}, func(string) {})
	if took := time.Since(began); err != nil || took < 2900*time.Millisecond || took > patience {
		t.Errorf("the command was to have three seconds, and had %s: %v", took, err)
	}
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	if code := p.end(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: %s", got)
	}
	if got := history(t, db)[3].Reason; got != "stepping down" {
		t.Errorf("asked to end by a signal, the history says %q", got)
	}
}

// A drain that a newer term overtakes does not say that it was done.
func TestDrainedAndDeposed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// A lease that a stall of the machine does not use up: then it would be lost, not overtaken.
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
		t.Errorf("the drain was overtaken, and says %v", err)
	}
	p.says("epoch 1001")
	p.send(unix.SIGTERM)
	p.says("asked") // two signals in a row may be one
	p.send(unix.SIGTERM)
	_ = p.end()
	if got := events(t, db); got != "acquired evicted acquired released" {
		t.Errorf("history: %s", got)
	}
}

// Drained by an operator while it will not end: it is released when it is dead, by
// the deadline, and not before; then it campaigns again.
func TestDrainedFromOutside(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `trap '' TERM; echo "epoch $CONCH_EPOCH"; while :; do sleep 0.02; done`, "--stop-grace", "300ms", "--lease", "3s"))
	p.says("epoch 1")
	main := child(t, child(t, p.Cmd.Process.Pid))
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "test", Timeout: 3 * time.Second}, func(string) {})
	if s := state(main); s != "" || err != nil {
		t.Errorf("drained, and the command is in state %q: %v", s, err)
	}
	p.says("epoch 2")
	p.send(unix.SIGTERM)
	if code := p.end(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	if got := events(t, db); got != "acquired drained acquired released" {
		t.Errorf("history: %s", got)
	}
}

// Whoever does not end when asked is killed: at the second signal, or after a while.
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
				t.Errorf("exit code %d", code)
			}
			if got := events(t, db); got != "acquired released" {
				t.Errorf("history: %s", got)
			}
		})
	}
}

// A follower that is asked to end has nothing to end but itself.
func TestDrainAFollower(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	leader := begin(t, sh(t, db, `echo up; cat`))
	leader.says("up")
	p := begin(t, sh(t, db, `echo never`, "--id", "other"))
	pgtest.Eventually(t, patience, "the follower has registered", func() bool { return strings.Contains(candidates(t, db), "other") })
	p.send(unix.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	_ = leader.stdin.Close()
	if code := leader.end(); code != 0 {
		t.Errorf("the leader's exit code %d", code)
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
