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

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// unarmed is a nemesis without machines, and so with no patience to recover.
func unarmed(t *testing.T) *nemesis {
	t.Helper()
	return &nemesis{
		Cluster: &Cluster{}, cfg: Config{Seed: 5, Faults: 40, Lease: time.Second, hope: time.Nanosecond},
		w: newWitness(t.TempDir()), view: &view{out: io.Discard},
	}
}

// A plan that is repeated elsewhere is the same plan, whatever can be done there.
func TestAPlanIsTheSameWhereSomethingIsLeftOut(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.leaveOut(errors.New("no compiler"))
	if !reflect.DeepEqual(n.plan(), Plan(5, 40, Kinds())) {
		t.Error("another plan")
	}
	if len(n.leftOut) != 2 || n.leftOut[ClockAhead] != "no compiler" {
		t.Errorf("left out: %v", n.leftOut)
	}
	if err := n.loop(t.Context(), []Fault{{Kind: ClockBack}}); err == nil || !strings.Contains(err.Error(), "no kind of fault is left") {
		t.Errorf("a plan of nothing else: %v", err)
	}
}

// What is left out keeps its number, and the other of a pair comes alone.
func TestWhatIsLeftOutIsPassedOver(t *testing.T) {
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
	if n.taken != 5 || len(n.wounds) != 2 || n.wounds[0].Number != 2 || n.wounds[1].Number != 5 || n.wounds[1].Fault.Joined {
		t.Errorf("%d taken up, %d done: %+v", n.taken, len(n.wounds), n.wounds)
	}
}

// Who campaigned before a heal says nothing about who does after it.
func TestAHealIsFollowedByAFreshLook(t *testing.T) {
	t.Parallel()
	n := unarmed(t)
	n.asked, n.running = time.Now(), 3
	a := &active{Wound: &Wound{Fault: Fault{Kind: Backend}, Done: 1}}
	if err := n.heal(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if !n.asked.IsZero() || a.Healed == 0 || a.Over < a.Healed {
		t.Errorf("asked at %v, healed at %d, over at %d", n.asked, a.Healed, a.Over)
	}
}

// Somebody may notice what a heal has done to it when all seemed to go on.
func TestWhoFallsSilentInTheCalmHasNotRecovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acted time.Duration // from now; the calm is 300 ms
		want  int
	}{"all go on": {time.Hour, 0}, "one stops": {150 * time.Millisecond, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := unarmed(t)
			n.cfg.hope = 20 * time.Millisecond
			n.asked = time.Now().Add(time.Hour) // no machines: all of them campaign
			now := fence.Boottime()
			n.w.saw(rows, sign{at: now.Add(time.Hour)})
			n.w.saw(children, sign{at: now.Add(time.Hour)})
			n.w.saw(outside, sign{at: now.Add(c.acted)})
			n.recover(t.Context(), "a heal")
			if len(n.violations) != c.want {
				t.Fatalf("%+v", n.violations)
			}
			if c.want > 0 && !strings.Contains(n.violations[0].Detail, "still missing: acts behind the act door") {
				t.Errorf("%+v", n.violations)
			}
		})
	}
}

// A fault that found nobody is in no figure.
func TestAMissIsNoSample(t *testing.T) {
	t.Parallel()
	for missed, want := range map[bool]int{true: 0, false: 1} {
		n := unarmed(t)
		var said strings.Builder
		n.view.out = &said
		n.w.saw(rows, sign{at: fence.Boottime(), node: "node-1"})
		a := &active{Wound: &Wound{Number: 1, Fault: Fault{Kind: Backend}, Nodes: []string{"node-1"}, Missed: missed}}
		a.at[rows] = "node-1"
		n.record([]*active{a}, true)
		if len(n.samples[rows].all[Backend]) != want || len(n.samples[rows].hits[Backend]) != want {
			t.Errorf("missed %v: %+v", missed, n.samples[rows])
		}
		if strings.Contains(said.String(), "nobody") != missed {
			t.Errorf("missed %v: said %q", missed, said.String())
		}
	}
}

// pgx wraps ctx.Err(), and the cause of an interrupted context is another error.
func TestWhatCtrlCHasCutShortIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	n := &nemesis{view: &view{out: io.Discard}}
	a := &active{Wound: &Wound{Number: 1, Fault: Fault{Kind: Backend}}}
	cut := fmt.Errorf("timeout: %w", context.Canceled)
	if err := n.stuck(ctx, cut, a); err == nil {
		t.Error("nobody has interrupted it yet")
	}
	cancel(errors.New("interrupt signal received"))
	if err := n.stuck(ctx, cut, a); err != nil {
		t.Error(err)
	}
	if err := n.stuck(ctx, fmt.Errorf("stopped: %w", context.Cause(ctx)), a); err != nil {
		t.Error(err)
	}
	if err := n.stuck(ctx, errors.New("the disk is full"), a); err == nil {
		t.Error("that was no interruption")
	}
}

// What lives on of a machine that has ended is found and killed, and nobody else is.
func TestASweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &Cluster{cfg: Place{Dir: dir}}
	if left := c.sweep(0); left != 0 {
		t.Fatalf("%d processes of nobody", left)
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
	pgtest.Eventually(t, time.Minute, "its arguments can be read, as they cannot in the moment after its exec", func() bool { return len(c.leftover()) > 0 })
	if left := c.sweep(50 * time.Millisecond); left != 1 {
		t.Errorf("%d found", left)
	}
	if code := child.Wait(time.Minute); code != -1 {
		t.Errorf("it ended with code %d", code)
	}
	_ = input.Close()
	if code := other.Wait(time.Minute); code < 0 {
		t.Error("another was killed too")
	}
	if left := (&Cluster{}).leftover(); len(left) != 0 {
		t.Errorf("without a folder: %v", left)
	}
}
