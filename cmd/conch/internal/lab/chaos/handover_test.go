//go:build unix

package chaos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A step is recorded with its times. If it is not overcome, or its order does not end, that is a
// violation.
func TestAStepThatNobodyOvercomes(t *testing.T) {
	t.Parallel()
	refused := &refusedError{"the leader has changed"}
	broken := errors.New("the process cannot be started")
	for name, c := range map[string]struct {
		err   error
		past  bool
		says  []string
		fails error
	}{
		"overcome":                           {nil, true, nil, nil},
		"not overcome":                       {nil, false, []string{"after the drain there was no other leader of s"}, nil},
		"refused, and another node led":      {refused, true, nil, nil},
		"refused":                            {refused, false, []string{"no other leader of s: the leader has changed"}, nil},
		"an order that hangs":                {&stuckError{"it hangs"}, true, []string{"it hangs"}, nil},
		"an order that hangs without effect": {&stuckError{"it hangs"}, false, []string{"it hangs", "no other leader of s"}, nil},
		"the nemesis's own fault":            {broken, false, nil, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := unarmed(t)
			n.cfg.Lease = time.Millisecond
			in := &Injection{Number: 4}
			var done atomic.Bool
			do := func() error { done.Store(true); return c.err }
			on, err := n.step(t.Context(), in, Step{What: "drain", Scopes: []string{"s"}}, do, func() bool { return c.past && done.Load() })
			if on != c.past || !errors.Is(err, c.fails) {
				t.Errorf("got overcome %v and %v, want %v and %v", on, err, c.past, c.fails)
			}
			if len(n.violations) != len(c.says) {
				t.Fatalf("got %+v, want %q", n.violations, c.says)
			}
			for i, v := range n.violations {
				if v.Invariant != Recovers || v.Fault != 4 || !strings.Contains(v.Detail, c.says[i]) {
					t.Errorf("got %+v, want %q", v, c.says[i])
				}
			}
			if len(in.Steps) != 1 || in.Steps[0].At == 0 || in.Steps[0].Until < in.Steps[0].At {
				t.Errorf("recorded: %+v, want one step with its times", in.Steps)
			}
		})
	}
}

// An order whose command is slow to begin is waited for.
func TestASlowOrder(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.cfg.Lease = time.Millisecond
	var done atomic.Bool
	do := func() error {
		<-time.NewTimer(2*spare + spare/2).C
		done.Store(true)
		return nil
	}
	on, err := n.step(t.Context(), &Injection{}, Step{What: "drain"}, do, done.Load)
	if !on || err != nil || len(n.violations) > 0 {
		t.Errorf("got %v, %v, %+v; want it overcome and no violation", on, err, n.violations)
	}
}

// A step that Ctrl-C has cut short is no violation.
func TestAStepThatIsCutShort(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	on, err := n.step(ctx, &Injection{}, Step{}, func() error { return context.Canceled }, func() bool { return false })
	if on || err != nil || len(n.violations) > 0 {
		t.Errorf("got %v, %v, %+v; want no error and no violation", on, err, n.violations)
	}
}

// An order ends by itself, with its answer, or is killed.
func TestOrders(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.launcher = fleet.NewLauncher()
	defer n.launcher.Close()
	n.Cluster.cfg.Conch = "/bin/sh"
	order := func(ctx context.Context, script string) error { return n.obey(ctx, "-c", script) }
	if err := order(t.Context(), "exit 0"); err != nil {
		t.Error(err)
	}
	if refused, is := errors.AsType[*refusedError](order(t.Context(), "echo not now >&2; exit 1")); !is || !strings.Contains(refused.what, "code 1: not now") {
		t.Errorf("got %+v, want the refusal with its words", refused)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	if err := order(ctx, "exec sleep 1000"); !errors.Is(err, why) {
		t.Error(err)
	}
	n.ending.Wait() // all orders have ended
}

// A daemon that ignores SIGTERM is killed, and one that was not started is left alone.
func TestTheEndOfADaemon(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.launcher = fleet.NewLauncher()
	defer n.launcher.Close()
	d := &daemon{id: "daemon-1", dir: t.TempDir()}
	if d.end(0) || d.alive() {
		t.Error("it is alive before its start")
	}
	n.Cluster.cfg.Conch = "/bin/sh"
	up := filepath.Join(d.dir, "up")
	for script, c := range map[string]struct {
		patience time.Duration
		killed   bool
	}{
		`trap "" TERM; touch "$0"; while :; do :; done`: {50 * time.Millisecond, true},
		`touch "$0"; exec sleep 1000`:                   {time.Minute, false},
	} {
		_ = os.Remove(up)
		if err := d.launch(n.Cluster, "-c", script, up); err != nil {
			t.Fatal(err)
		}
		pgtest.Eventually(t, 30*time.Second, "the script has started", func() bool { _, err := os.Stat(up); return err == nil })
		if !d.alive() || d.end(c.patience) != c.killed || d.alive() {
			t.Errorf("%q: want it killed: %v; it is alive: %v", script, c.killed, d.alive())
		}
	}
	n.ending.Wait()
}
