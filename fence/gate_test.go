package fence_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manual is a clock that a test sets. Its next reading first calls meanwhile, which
// stands for what another goroutine might do at that instant.
type manual struct {
	at        atomic.Int64
	meanwhile func()
}

func (m *manual) now() fence.Instant {
	if f := m.meanwhile; f != nil {
		m.meanwhile = nil
		f()
	}
	return fence.Instant(m.at.Load())
}

func (m *manual) set(at fence.Instant) { m.at.Store(int64(at)) }

func manualGate(scope string) (*fence.Gate, *fence.Latch, *manual) {
	m := &manual{}
	g, l := fence.New(scope, m.now)
	return g, l, m
}

var token = fence.Token{Scope: "s", Holder: "a", Epoch: 7, Term: fence.Term{1}, System: 5, Timeline: 2}

// doors returns the open doors: "", "fenced", "act" or "fenced act".
func doors(g *fence.Gate) string {
	var open []string
	for _, d := range []fence.Door{fence.Fenced, fence.Act} {
		is := g.IsOpen(d)
		got, err := g.Require(d)
		if is != (err == nil) || is != (g.Left(d) > 0) || is != (got == token) || is != (g.EnsureEpoch(d, 7) == nil) {
			return "methods disagree: " + d.String()
		}
		if is {
			open = append(open, d.String())
		}
	}
	return strings.Join(open, " ")
}

// S14: the fenced door opens with the token, the act door at the end of the hold.
// Both shut at the deadline, which is compared at each use.
func TestDoorsInOrder(t *testing.T) {
	g, l, clock := manualGate("s")
	if got := doors(g); got != "" {
		t.Fatalf("a new gate has the open doors %q, want none", got)
	}
	clock.set(100)
	l.Open(token, 200, 300)
	for _, c := range []struct {
		at   fence.Instant
		want string
	}{
		{100, "fenced"}, {199, "fenced"},
		{200, "fenced act"}, {299, "fenced act"},
		{300, ""}, {301, ""}, {math.MaxInt64, ""},
	} {
		clock.set(c.at)
		if got := doors(g); got != c.want {
			t.Errorf("at %d the open doors are %q, want %q", c.at, got, c.want)
		}
	}
	clock.set(250)
	if left := g.Left(fence.Act); left != 50 {
		t.Errorf("at 250 Left is %s, want 50ns", left)
	}
}

// S11: an Extend opens a late gate again, in the same term.
func TestLateReopens(t *testing.T) {
	g, l, clock := manualGate("s")
	l.Open(token, 0, 300)
	clock.set(300)
	if _, err := g.Require(fence.Act); !errors.Is(err, fence.ErrLate) || !errors.Is(err, fence.ErrShut) {
		t.Fatalf("at the deadline Require returned %v, want %v", err, fence.ErrLate)
	}
	l.Extend(500)
	if got, err := g.Require(fence.Act); err != nil || got != token {
		t.Fatalf("after Extend Require returned %s and %v, want %s", got, err, token)
	}
	l.Extend(400) // an answer that comes out of order never moves the deadline back
	clock.set(450)
	if got := doors(g); got != "fenced act" {
		t.Errorf("Extend moved the deadline back: the open doors are %q, want both", got)
	}
}

// S11: Suspend shuts the gate at once, and the next Extend opens it again.
func TestSuspend(t *testing.T) {
	g, l, clock := manualGate("s")
	l.Suspend() // does nothing to a shut gate
	l.Open(token, 0, 300)
	l.Suspend()
	if got := doors(g); got != "" {
		t.Errorf("after Suspend the open doors are %q, want none", got)
	}
	l.Extend(300)
	if got := doors(g); got != "fenced act" {
		t.Errorf("after Extend to the same deadline the open doors are %q, want both", got)
	}
	clock.set(299)
	l.Suspend()
	l.Extend(200) // the heartbeat succeeded, but it was sent too long ago
	if got := doors(g); got != "" {
		t.Errorf("after Extend into the past the open doors are %q, want none", got)
	}
}

func TestShutIsFinal(t *testing.T) {
	g, l, _ := manualGate("s")
	l.Extend(300) // does nothing to a gate that was never open
	if got := doors(g); got != "" {
		t.Fatalf("after Extend of a new gate the open doors are %q, want none", got)
	}
	l.Open(token, 0, 300)
	l.Shut(errGone)
	l.Extend(1000)
	l.Suspend()
	l.Extend(1000)
	if got := doors(g); got != "" {
		t.Errorf("after Shut the open doors are %q, want none", got)
	}
	l.Shut(errGone) // does nothing to a shut gate
	l.Open(token, 0, 300)
	if got := doors(g); got != "fenced act" {
		t.Errorf("in the next term the open doors are %q, want both", got)
	}
}

var errGone = errors.New("gone")

// A call that loaded the tenure just before it ended finds it over.
func TestTenureEndsDuringTheCheck(t *testing.T) {
	next := token
	next.Epoch = 8
	for name, end := range map[string]func(*fence.Latch){
		"shut":                     func(l *fence.Latch) { l.Shut(errGone) },
		"suspended":                func(l *fence.Latch) { l.Suspend() },
		"opened for the next term": func(l *fence.Latch) { l.Open(next, 0, 300) },
	} {
		for use, open := range map[string]func(*fence.Gate) bool{
			"IsOpen":  func(g *fence.Gate) bool { return g.IsOpen(fence.Fenced) },
			"Left":    func(g *fence.Gate) bool { return g.Left(fence.Fenced) > 0 },
			"Require": func(g *fence.Gate) bool { _, err := g.Require(fence.Fenced); return err == nil },
			"Do": func(g *fence.Gate) bool {
				return g.Do(t.Context(), fence.Fenced, 0, func(context.Context, fence.Token) error { return nil }) == nil
			},
		} {
			g, l, clock := manualGate("s")
			l.Open(token, 0, 300)
			clock.meanwhile = func() { end(l) }
			if open(g) {
				t.Errorf("%s found the gate open although it was %s meanwhile", use, name)
			}
		}
	}
}

// S14, S15: EnsureEpoch refuses work that was prepared in another epoch.
func TestEnsureEpoch(t *testing.T) {
	g, l, clock := manualGate("s")
	if err := g.EnsureEpoch(fence.Fenced, 7); !errors.Is(err, fence.ErrShut) {
		t.Errorf("EnsureEpoch of a shut gate: %v, want %v", err, fence.ErrShut)
	}
	l.Open(token, 200, 300)
	for epoch, want := range map[int64]error{6: fence.ErrStale, 7: nil, 8: fence.ErrStale, 0: fence.ErrStale} {
		if err := g.EnsureEpoch(fence.Fenced, epoch); !errors.Is(err, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, err, want)
		}
	}
	if err := g.EnsureEpoch(fence.Act, 7); !errors.Is(err, fence.ErrHolding) {
		t.Errorf("EnsureEpoch before the act door opens: %v, want %v", err, fence.ErrHolding)
	}
	clock.set(300)
	if err := g.EnsureEpoch(fence.Act, 7); !errors.Is(err, fence.ErrLate) {
		t.Errorf("EnsureEpoch at the deadline: %v, want %v", err, fence.ErrLate)
	}
}

// S17: a refusal names the door, the scope, the reason and the holder.
func TestShutError(t *testing.T) {
	g, l, clock := manualGate("payments")
	refusal := func(d fence.Door) *fence.ShutError {
		t.Helper()
		_, err := g.Require(d)
		var shut *fence.ShutError
		if !errors.As(err, &shut) || !errors.Is(err, fence.ErrShut) || errors.Is(err, fence.ErrStale) {
			t.Fatalf("Require returned %v, want a *ShutError", err)
		}
		return shut
	}
	if e := refusal(fence.Act); *e != (fence.ShutError{Scope: "payments", Door: fence.Act}) {
		t.Errorf("this process never led: got %+v", e)
	}
	l.Heard("b")
	e := refusal(fence.Fenced)
	if *e != (fence.ShutError{Scope: "payments", Door: fence.Fenced, Holder: "b"}) {
		t.Errorf("b leads: got %+v", e)
	}
	l.Open(token, 200, 300)
	if e := refusal(fence.Act); !errors.Is(e, fence.ErrHolding) {
		t.Errorf("in the hold: got %v, want %v", e, fence.ErrHolding)
	}
	clock.set(300)
	if e := refusal(fence.Act); !errors.Is(e, fence.ErrLate) {
		t.Errorf("at the deadline: got %v, want %v", e, fence.ErrLate)
	}
	l.Shut(errGone)
	l.Heard("c")
	e = refusal(fence.Act)
	if e.Holder != "c" || !errors.Is(e, errGone) {
		t.Errorf("after Shut: got %v, want holder c and %v", e, errGone)
	}
	l.Open(token, 200, 1000)
	clock.set(100)
	if e := refusal(fence.Act); !errors.Is(e, fence.ErrHolding) || errors.Is(e, errGone) {
		t.Errorf("in the hold of a later term: got %v, want %v and not the old cause", e, fence.ErrHolding)
	}
	for _, word := range []string{"act door", `"payments"`, "c is", "gone"} {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("%q does not contain %q", e, word)
		}
	}
}

// S18: a standalone gate never shuts, and its token is one that every fence refuses.
func TestStandalone(t *testing.T) {
	g := fence.Standalone("s", "me")
	for _, d := range []fence.Door{fence.Act, fence.Fenced} {
		got, err := g.Require(d)
		if err != nil || got != (fence.Token{Scope: "s", Holder: "me"}) {
			t.Errorf("%s door: Require returned %+v and %v", d, got, err)
		}
		err = g.Do(t.Context(), d, 100*365*24*time.Hour, func(ctx context.Context, _ fence.Token) error { return ctx.Err() })
		if err != nil {
			t.Errorf("%s door: an act of a century: %v", d, err)
		}
	}
	if g.Left(fence.Act) <= 0 || g.Scope() != "s" {
		t.Errorf("Left is %s and Scope is %q, want a positive time and \"s\"", g.Left(fence.Act), g.Scope())
	}
}

// Left is never more than the time to the deadline, even while the gate is moved.
func TestLeftUnderSuspend(t *testing.T) {
	g, l, _ := manualGate("s")
	l.Open(token, 0, 1000)
	stop := make(chan struct{})
	var toggler sync.WaitGroup
	toggler.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				l.Suspend()
				l.Extend(1000)
			}
		}
	})
	for range 200_000 {
		if left := g.Left(fence.Act); left < 0 || left > 1000 {
			t.Errorf("Left is %s, want 0 to 1µs", left)
			break
		}
	}
	for range 20_000 {
		_ = g.Do(t.Context(), fence.Act, 0, func(ctx context.Context, _ fence.Token) error {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Second {
				t.Errorf("the act's context ends at %s, want within a second", end)
			}
			return nil
		})
	}
	close(stop)
	toggler.Wait()
}

func TestChecksDoNotAllocate(t *testing.T) {
	g, l := fence.New("s", nil)
	l.Open(token, 0, math.MaxInt64)
	for name, check := range map[string]func(){
		"Require": func() { _, _ = g.Require(fence.Act) },
		"IsOpen":  func() { _ = g.IsOpen(fence.Fenced) },
	} {
		if n := testing.AllocsPerRun(1000, check); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}
