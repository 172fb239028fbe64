package keeper_test

import (
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
