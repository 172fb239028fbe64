package fence_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

func bubbleGate() (*fence.Gate, *fence.Latch) {
	start := time.Now()
	return fence.New("s", func() fence.Instant { return fence.Instant(time.Since(start)) })
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

const second = fence.Instant(time.Second)

// Do begins an act of length most iff the act can end before the deadline.
func TestDoFits(t *testing.T) {
	g, l, clock := manualGate("s")
	l.Open(token, 200, 300)
	for _, c := range []struct {
		at   fence.Instant
		door fence.Door
		most time.Duration
		want error
	}{
		{100, fence.Fenced, 199, nil}, {100, fence.Fenced, 200, fence.ErrTooLong},
		{100, fence.Act, 50, fence.ErrHolding}, {199, fence.Act, 0, fence.ErrHolding},
		{200, fence.Act, 99, nil}, {200, fence.Act, 100, fence.ErrTooLong}, {200, fence.Act, 101, fence.ErrTooLong},
		{299, fence.Act, 0, nil}, {299, fence.Act, 1, fence.ErrTooLong},
		{300, fence.Act, 0, fence.ErrLate}, {300, fence.Fenced, -5, fence.ErrLate},
	} {
		clock.set(c.at)
		ran := false
		err := g.Do(t.Context(), c.door, c.most, func(_ context.Context, got fence.Token) error {
			ran = true
			if got != token || l.Acts() != 1 {
				t.Errorf("inside the act: token %s and %d acts, want %s and 1", got, l.Acts(), token)
			}
			return nil
		})
		if !errors.Is(err, c.want) || ran != (c.want == nil) || c.want != nil && !errors.Is(err, fence.ErrShut) {
			t.Errorf("at %d, %s door, most %d: ran %v with error %v, want error %v", c.at, c.door, c.most, ran, err, c.want)
		}
		if l.Acts() != 0 {
			t.Fatalf("%d acts are counted after Do has returned, want 0", l.Acts())
		}
	}
}

func TestDoReturnsTheErrorOfTheAct(t *testing.T) {
	g, l, _ := manualGate("s")
	l.Open(token, 0, 300)
	if err := g.Do(t.Context(), fence.Act, 0, func(context.Context, fence.Token) error { return errGone }); err != errGone { //nolint:errorlint // the very one
		t.Errorf("Do returned %v, want %v", err, errGone)
	}
	func() {
		defer func() { _ = recover() }()
		_ = g.Do(t.Context(), fence.Act, 0, func(context.Context, fence.Token) error { panic("act") })
	}()
	if l.Acts() != 0 {
		t.Errorf("%d acts are counted after an act panicked, want 0", l.Acts())
	}
}

// The act's context ends at the deadline that was valid when the act began.
func TestDoEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := bubbleGate()
		l.Open(token, 0, 2*second)
		pass(500 * time.Millisecond)
		began := time.Now()
		_ = g.Do(t.Context(), fence.Act, time.Second, func(ctx context.Context, _ fence.Token) error {
			l.Extend(9 * second)
			<-ctx.Done()
			if took := time.Since(began); took != 1500*time.Millisecond || !errors.Is(context.Cause(ctx), fence.ErrLate) {
				t.Errorf("the act's context ended after %s with %v, want 1.5s and %v", took, context.Cause(ctx), fence.ErrLate)
			}
			return nil
		})
	})
}

// Shut ends the contexts of all acts at once with its cause, and so does the next
// term. The context of an act ends when Do returns.
func TestShutEndsActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			end  func(*fence.Latch)
			want error
		}{
			{func(l *fence.Latch) { l.Shut(errGone) }, errGone},
			{func(l *fence.Latch) { l.Open(token, 0, 9*second) }, fence.ErrStale},
		} {
			g, l := bubbleGate()
			l.Open(token, 0, 100*second)
			began := time.Now()
			var acts sync.WaitGroup
			for range 3 {
				acts.Go(func() {
					_ = g.Do(t.Context(), fence.Fenced, 0, func(ctx context.Context, _ fence.Token) error {
						<-ctx.Done()
						if context.Cause(ctx) != c.want || time.Since(began) != time.Second { //nolint:errorlint // the very one
							t.Errorf("the act's context ended after %s with %v, want 1s and %v", time.Since(began), context.Cause(ctx), c.want)
						}
						return nil
					})
				})
			}
			pass(time.Second)
			c.end(l)
			acts.Wait()
		}
		g, l := bubbleGate()
		l.Open(token, 0, 100*second)
		var over func() error
		_ = g.Do(t.Context(), fence.Fenced, 0, func(ctx context.Context, _ fence.Token) error { over = ctx.Err; return ctx.Err() })
		if over() == nil {
			t.Error("the act's context is alive after Do has returned")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errGone)
		_ = g.Do(ctx, fence.Fenced, 0, func(ctx context.Context, _ fence.Token) error {
			if context.Cause(ctx) != errGone { //nolint:errorlint // the very one
				t.Errorf("the caller's context ended, and the act's has the cause %v, want %v", context.Cause(ctx), errGone)
			}
			return nil
		})
	})
}

// A latch that shuts the gate and then counts no act knows that none will begin.
func TestActsAreCountedBeforeTheCheck(t *testing.T) {
	g, l, clock := manualGate("s")
	l.Open(token, 0, 300)
	counted := int64(-1)
	clock.meanwhile = func() { counted = l.Acts() }
	_ = g.Do(t.Context(), fence.Act, 0, func(context.Context, fence.Token) error { return nil })
	if counted != 1 {
		t.Errorf("%d acts are counted while one is about to begin, want 1", counted)
	}
}

// Do does not count calls at a shut gate, or constant callers could delay a drain for ever.
func TestRefusedActsAreNotCounted(t *testing.T) {
	g, l, _ := manualGate("s")
	var asked atomic.Int64
	stop := hammer(2, func() {
		asked.Add(1)
		if err := g.Do(t.Context(), fence.Act, 0, nil); !errors.Is(err, fence.ErrShut) {
			t.Error(err)
		}
	})
	defer stop()
	for asked.Load() < 50_000 {
		if n := l.Acts(); n != 0 {
			t.Fatalf("%d acts are under way behind a shut gate, want 0", n)
		}
	}
}

func hammer(n int, f func()) (stop func()) {
	var all sync.WaitGroup
	var over atomic.Bool
	for range n {
		all.Go(func() {
			for !over.Load() {
				f()
			}
		})
	}
	return func() { over.Store(true); all.Wait() }
}

// F6: after Shut and Drain no act runs and none begins, even under constant calls.
func TestDrainMeansNone(t *testing.T) {
	g, l := fence.New("s", nil)
	var running atomic.Int64
	var began atomic.Int64
	act := func(context.Context, fence.Token) error {
		running.Add(1)
		began.Add(1)
		running.Add(-1)
		return errGone
	}
	stop := hammer(4, func() { _ = g.Do(t.Context(), fence.Act, 0, act) })
	defer stop()
	for range 50 {
		l.Open(token, 0, fence.Boottime().Add(time.Minute))
		for before := began.Load(); began.Load() < before+5; {
			_ = g.IsOpen(fence.Act)
		}
		l.Shut(errGone)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := l.Drain(ctx)
		cancel()
		if err != nil {
			t.Fatalf("drain: %v", err)
		}
		then := began.Load()
		for range 100 {
			if running.Load() != 0 || began.Load() != then || l.Acts() != 0 {
				t.Fatalf("after Drain %d acts run and %d have begun, want none", running.Load(), began.Load()-then)
			}
		}
	}
}

func TestShutBetweenTheChecks(t *testing.T) {
	g, l, _ := manualGate("s")
	stop := hammer(2, func() {
		err := g.Do(t.Context(), fence.Act, 0, func(context.Context, fence.Token) error { return nil })
		if err != nil && !errors.Is(err, fence.ErrShut) {
			t.Error(err)
		}
	})
	defer stop()
	for range 200_000 {
		l.Open(token, 0, 300)
		l.Shut(errGone)
	}
}

func TestWaitMissesNothing(t *testing.T) {
	g, l, clock := manualGate("s")
	l.Open(token, 0, 300)
	clock.set(300)
	clock.meanwhile = func() {
		l.Shut(errGone)
		l.Open(token, 0, 400)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if got, err := g.Wait(ctx, fence.Act); err != nil || got != token {
		t.Errorf("Wait returned %s and %v, want %s", got, err, token)
	}
}

// Drain waits for the last act, but not longer than its context lives.
func TestDrainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := bubbleGate()
		if err := l.Drain(t.Context()); err != nil {
			t.Errorf("Drain without acts: %v", err)
		}
		l.Open(token, 0, 100*second)
		var acts sync.WaitGroup
		for i := range 3 {
			acts.Go(func() {
				_ = g.Do(t.Context(), fence.Act, 0, func(context.Context, fence.Token) error {
					pass(time.Duration(i+1) * time.Second)
					return nil
				})
			})
		}
		synctest.Wait()
		l.Shut(errGone)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, errGone)
		defer cancel()
		if err := l.Drain(ctx); !errors.Is(err, errGone) || l.Acts() != 2 {
			t.Errorf("Drain gave up with %v and %d acts, want %v and 2", err, l.Acts(), errGone)
		}
		began := time.Now()
		if err := l.Drain(t.Context()); err != nil || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("Drain took %s and returned %v, want 1.5s and no error", time.Since(began), err)
		}
		acts.Wait()
	})
}

// Wait returns when its door opens: at a new token, the end of the hold, or a heartbeat.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := bubbleGate()
		wait := func(d fence.Door) <-chan time.Duration {
			woke := make(chan time.Duration, 1)
			began := time.Now()
			go func() {
				if got, err := g.Wait(t.Context(), d); err != nil || got != token {
					t.Errorf("Wait returned %s and %v, want %s", got, err, token)
				}
				woke <- time.Since(began)
			}()
			synctest.Wait()
			return woke
		}
		expect := func(what string, woke <-chan time.Duration, want time.Duration) {
			t.Helper()
			if took := <-woke; took != want {
				t.Errorf("%s: Wait returned after %s, want %s", what, took, want)
			}
		}
		fenced, act := wait(fence.Fenced), wait(fence.Act)
		pass(time.Second)
		l.Open(token, 3*second, 10*second)
		expect("the token", fenced, time.Second)
		expect("the end of the hold", act, 3*time.Second)
		expect("an open door", wait(fence.Act), 0)
		pass(7 * time.Second)
		act = wait(fence.Act) // late
		pass(time.Second)
		l.Extend(20 * second)
		expect("a heartbeat", act, time.Second)
		l.Suspend()
		act = wait(fence.Act)
		l.Shut(errGone)
		pass(time.Second)
		l.Open(token, 0, 30*second)
		expect("the next term", act, time.Second)

		l.Open(token, 60*second, 30*second) // a hold that outlasts the deadline
		act = wait(fence.Act)
		pass(10 * time.Second)
		l.Extend(90 * second)
		pass(60 * time.Second)
		if took := <-act; took > 60*time.Second {
			t.Errorf("a hold that ends after the first deadline: Wait returned after %s, want 60s at most", took)
		}
		l.Shut(errGone)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errGone)
		defer cancel()
		if _, err := g.Wait(ctx, fence.Act); !errors.Is(err, errGone) {
			t.Errorf("Wait gave up with %v, want %v", err, errGone)
		}
	})
}
