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

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A blow is written down with its times, and one that nobody gets past is a violation,
// as is an order that does not end.
func TestABlowThatNobodyGetsPast(t *testing.T) {
	t.Parallel()
	refused := &refusedError{"the leader has changed"}
	broken := errors.New("no room for a process")
	for name, c := range map[string]struct {
		err   error
		past  bool
		says  []string
		fails error
	}{
		"overcome":                       {nil, true, nil, nil},
		"not overcome":                   {nil, false, []string{"after the drain there was no other leader of s"}, nil},
		"refused, and somebody else led": {refused, true, nil, nil},
		"refused":                        {refused, false, []string{"no other leader of s: the leader has changed"}, nil},
		"an order that hangs":            {&stuckError{"it hangs"}, true, []string{"it hangs"}, nil},
		"one that hangs in vain":         {&stuckError{"it hangs"}, false, []string{"it hangs", "no other leader of s"}, nil},
		"the nemesis's own fault":        {broken, false, nil, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := unarmed(t)
			n.cfg.Lease = time.Millisecond
			w := &Wound{Number: 4}
			var done atomic.Bool
			do := func() error { done.Store(true); return c.err }
			on, err := n.blow(t.Context(), w, Blow{What: "drain", Scopes: []string{"s"}}, do, func() bool { return c.past && done.Load() })
			if on != c.past || !errors.Is(err, c.fails) {
				t.Errorf("it is overcome: %v, %v", on, err)
			}
			if len(n.violations) != len(c.says) {
				t.Fatalf("%+v, want %q", n.violations, c.says)
			}
			for i, v := range n.violations {
				if v.Invariant != Recovers || v.Fault != 4 || !strings.Contains(v.Detail, c.says[i]) {
					t.Errorf("%+v, want %q", v, c.says[i])
				}
			}
			if len(w.Blows) != 1 || w.Blows[0].At == 0 || w.Blows[0].Until < w.Blows[0].At {
				t.Errorf("written down: %+v", w.Blows)
			}
		})
	}
}

// What Ctrl-C has cut short is nobody's violation.
func TestABlowThatIsCutShort(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	on, err := n.blow(ctx, &Wound{}, Blow{}, func() error { return context.Canceled }, func() bool { return false })
	if on || err != nil || len(n.violations) > 0 {
		t.Errorf("%v, %v, %+v", on, err, n.violations)
	}
}

// An order ends by itself, with its answer, or is killed.
func TestOrders(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.launcher = fleet.NewLauncher()
	defer n.launcher.Close()
	n.Cluster.cfg.Program = "/bin/sh"
	order := func(ctx context.Context, script string) error {
		o, err := n.order("-c", script)
		if err != nil {
			t.Fatal(err)
		}
		return o.finish(ctx)
	}
	if err := order(t.Context(), "exit 0"); err != nil {
		t.Error(err)
	}
	if refused, is := errors.AsType[*refusedError](order(t.Context(), "echo not now >&2; exit 1")); !is || !strings.Contains(refused.what, "code 1: not now") {
		t.Errorf("%+v", refused)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	if err := order(ctx, "exec sleep 1000"); !errors.Is(err, why) {
		t.Error(err)
	}
	n.ending.Wait() // all of them have ended
}

// A daemon that does not hear SIGTERM is killed, and one that never lived is left alone.
func TestTheEndOfADaemon(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.launcher = fleet.NewLauncher()
	defer n.launcher.Close()
	d := &daemon{id: "daemon-1", dir: t.TempDir()}
	if d.end(0) || d.alive() {
		t.Error("it lived before its start")
	}
	n.Cluster.cfg.Program = "/bin/sh"
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
		pgtest.Eventually(t, 30*time.Second, "it has begun", func() bool { _, err := os.Stat(up); return err == nil })
		if !d.alive() || d.end(c.patience) != c.killed || d.alive() {
			t.Errorf("%q: it was to be killed: %v; it is alive: %v", script, c.killed, d.alive())
		}
	}
	n.ending.Wait()
}
