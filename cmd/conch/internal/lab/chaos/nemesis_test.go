//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// unarmed returns a nemesis without machines and without patience.
func unarmed(t *testing.T) *nemesis {
	t.Helper()
	return &nemesis{
		Cluster: &Cluster{}, cfg: Config{Seed: 5, Faults: 40, Lease: time.Second, testPatience: time.Nanosecond},
		w: newWitness(t.TempDir()), screen: screen.New(screen.Config{Out: io.Discard}),
	}
}

// A seed gives the same plan everywhere, whatever can be injected there.
func TestAPlanIsTheSameWhereSomethingIsLeftOut(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.leaveOut(errors.New("no compiler"))
	if !reflect.DeepEqual(n.plan(), Plan(5, 40, ordinary())) {
		t.Error("leaving out kinds changed the plan")
	}
	if len(n.leftOut) != 2 || n.leftOut[ClockAhead] != "no compiler" {
		t.Errorf("left out: %v, want both kinds of clocks", n.leftOut)
	}
	if err := n.loop(t.Context(), []Fault{{Kind: ClockBack}}); err == nil || !strings.Contains(err.Error(), "no kind of fault is left") {
		t.Errorf("a plan of kinds that are left out: got %v, want an error", err)
	}
}

// A fault that is left out keeps its number, and the other one of a pair comes alone.
func TestAFaultThatIsLeftOutIsSkipped(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.leaveOut(errors.New("no compiler"))
	slow := Fault{Kind: Latency, Target: Everybody}
	ahead := Fault{Kind: ClockAhead, Target: Everybody}
	joined := func(f Fault) Fault { f.Joined = true; return f }
	for _, group := range [][]Fault{{ahead}, {slow, joined(ahead)}, {ahead, joined(slow)}} {
		if err := n.strike(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	if n.taken != 5 || len(n.injections) != 2 || n.injections[0].Number != 2 || n.injections[1].Number != 5 || n.injections[1].Fault.Joined {
		t.Errorf("got %d faults taken, %d injected: %+v; want 5 and 2", n.taken, len(n.injections), n.injections)
	}
}

// What was asked before a heal says nothing about the time after it.
func TestCampaignsAreCountedAnewAfterAHeal(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.asked, n.running = time.Now(), 3
	a := &active{Injection: &Injection{Fault: Fault{Kind: Backend}, Done: 1}}
	if err := n.heal(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if !n.asked.IsZero() || a.Healed == 0 || a.Over < a.Healed {
		t.Errorf("asked at %v, healed at %d, over at %d; want a new question and both times", n.asked, a.Healed, a.Over)
	}
}

// The effect of a heal may show after everything seemed to go on.
func TestAStopBetweenFaultsIsNoRecovery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acted time.Duration // from now; the pause between two faults is 300 ms
		want  int
	}{"all go on": {time.Hour, 0}, "one stops": {150 * time.Millisecond, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := unarmed(t)
			n.cfg.testPatience = 20 * time.Millisecond
			n.asked = time.Now().Add(time.Hour) // without machines, all of them campaign
			now := fence.Boottime()
			n.w.saw(rows, sign{at: now.Add(time.Hour)})
			n.w.saw(children, sign{at: now.Add(time.Hour)})
			n.w.saw(outside, sign{at: now.Add(c.acted)})
			n.recover(t.Context(), "a heal")
			if len(n.violations) != c.want {
				t.Fatalf("got %+v, want %d", n.violations, c.want)
			}
			if c.want > 0 && !strings.Contains(n.violations[0].Detail, "still missing: acts behind the act door") {
				t.Errorf("got %+v, want one for the acts behind the act door", n.violations)
			}
		})
	}
}

// A fault that hit nobody is in no figure.
func TestAMissIsNoSample(t *testing.T) {
	t.Parallel()
	for missed, want := range map[bool]int{true: 0, false: 1} {
		n := unarmed(t)
		var said strings.Builder
		n.screen = screen.New(screen.Config{Out: &said})
		n.w.saw(rows, sign{at: fence.Boottime(), node: "node-1"})
		a := &active{Injection: &Injection{Number: 1, Fault: Fault{Kind: Backend}, Nodes: []string{"node-1"}, Missed: missed}}
		a.at[rows] = "node-1"
		n.record([]*active{a}, true)
		if len(n.samples[rows].all[Backend]) != want || len(n.samples[rows].hits[Backend]) != want {
			t.Errorf("missed %v: got samples %+v", missed, n.samples[rows])
		}
		if strings.Contains(said.String(), "nobody") != missed {
			t.Errorf("missed %v: printed %q", missed, said.String())
		}
	}
}

// pgx wraps ctx.Err(), while the cause of an interrupted context is another error.
func TestAnErrorAfterCtrlCIsDropped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	n := &nemesis{screen: screen.New(screen.Config{Out: io.Discard})}
	a := &active{Injection: &Injection{Number: 1, Fault: Fault{Kind: Backend}}}
	cut := fmt.Errorf("timeout: %w", context.Canceled)
	if err := n.stuck(ctx, cut, a); err == nil {
		t.Error("an error before Ctrl-C is dropped")
	}
	cancel(errors.New("interrupt signal received"))
	if err := n.stuck(ctx, cut, a); err != nil {
		t.Error(err)
	}
	if err := n.stuck(ctx, fmt.Errorf("stopped: %w", context.Cause(ctx)), a); err != nil {
		t.Error(err)
	}
	if err := n.stuck(ctx, errors.New("the disk is full"), a); err == nil {
		t.Error("an error that Ctrl-C did not cause is dropped")
	}
}

// A sweep finds and kills processes of machines that have ended, and no others.
func TestASweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &Cluster{cfg: ClusterConfig{Dir: dir}}
	if left := c.sweep(0); left != 0 {
		t.Fatalf("got %d processes, want none", left)
	}
	sh := func(args ...string) (*proctest.Process, io.Closer) {
		cmd := exec.Command("/bin/sh", append([]string{"-c", "read x"}, args...)...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		return proctest.Start(t, cmd), stdin
	}
	other, input := sh("less", dir)
	child, _ := sh(ChildCommand, "--dir", dir)
	pgtest.Eventually(t, time.Minute, "its arguments can be read, which takes a moment after its exec", func() bool { return len(c.leftover()) > 0 })
	if left := c.sweep(50 * time.Millisecond); left != 1 {
		t.Errorf("got %d processes, want 1", left)
	}
	if code := child.Wait(time.Minute); code != -1 {
		t.Errorf("it ended with code %d, want -1", code)
	}
	_ = input.Close()
	if code := other.Wait(time.Minute); code < 0 {
		t.Error("an unrelated process was killed")
	}
	if left := (&Cluster{}).leftover(); len(left) != 0 {
		t.Errorf("without a folder: got %v, want none", left)
	}
}
