package fence_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

// Boottime does not go back and does not stand still.
func TestBoottimeGoesOn(t *testing.T) {
	first := fence.Boottime()
	last := first
	for range 100_000 {
		now := fence.Boottime()
		if now < last {
			t.Fatalf("Boottime went back from %d to %d", last, now)
		}
		last = now
	}
	if first <= 0 || first == math.MaxInt64 || last == first {
		t.Errorf("Boottime went from %d to %d, want later and valid instants", first, last)
	}
	start, wall := fence.Boottime(), time.Now()
	<-time.NewTimer(50 * time.Millisecond).C
	if d := fence.Boottime().Sub(start) - time.Since(wall); d > 20*time.Millisecond || d < -20*time.Millisecond {
		t.Errorf("Boottime and the monotonic clock differ by %s after 50ms", d)
	}
	if i := fence.Instant(5); i.Add(7) != 12 || i.Add(7).Sub(i) != 7 {
		t.Errorf("5 + 7 is %d and their difference is %d, want 12 and 7", i.Add(7), i.Add(7).Sub(i))
	}
	// New uses Boottime when the clock is nil.
	g, l := fence.New("s", nil)
	l.Open(token, 0, fence.Boottime().Add(time.Hour))
	if left := g.Left(fence.Act); left > time.Hour || left < 59*time.Minute {
		t.Errorf("%s is left of an hour that has just begun", left)
	}
}

func TestDeadline(t *testing.T) {
	g, l, clock := manualGate("s")
	look := func(d fence.Door, want fence.Instant, open bool) {
		t.Helper()
		if at, ok := g.Deadline(d); ok != open || ok && at != want {
			t.Errorf("%s door: deadline %d, open %v; want %d, %v", d, at, ok, want, open)
		}
	}
	moves := func(what string, move func()) {
		t.Helper()
		before := g.Moved()
		select {
		case <-before:
			t.Fatalf("%s: Moved is closed before the move", what)
		default:
		}
		move()
		select {
		case <-before:
		default:
			t.Errorf("%s: Moved is not closed after the move", what)
		}
	}
	look(fence.Fenced, 0, false)
	moves("opening", func() { l.Open(token, 200, 300) })
	look(fence.Fenced, 300, true)
	look(fence.Act, 0, false) // in the hold
	clock.set(250)
	look(fence.Act, 300, true)
	moves("a heartbeat", func() { l.Extend(500) })
	look(fence.Act, 500, true)
	moves("a failed heartbeat", l.Suspend)
	look(fence.Act, 0, false)
	moves("the next good one", func() { l.Extend(600) })
	look(fence.Act, 600, true)
	clock.set(600)
	look(fence.Fenced, 0, false) // late
	moves("the end", func() { l.Shut(errGone) })
	look(fence.Fenced, 0, false)
}

// Outlive gives a step the stated time after the gate has shut, and no more.
func TestOutlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		longer, end := fence.Outlive(ctx, time.Second)
		defer end()
		if _, bound := longer.Deadline(); bound || longer.Value(key{}) != "kept" {
			t.Error("the derived context has a deadline or lacks the values of ctx")
		}
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Fatal("the derived context ended before ctx did")
		}
		cancel()
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("the derived context ended less than 1s after ctx")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if longer.Err() == nil {
			t.Error("the derived context is alive 1s after the end of ctx")
		}

		after, stop := fence.Outlive(ctx, time.Second) // ctx has ended
		if after.Err() != nil {
			t.Error("a context derived from one that has ended begins ended")
		}
		stop()
		if after.Err() == nil {
			t.Error("the derived context is alive after end was called")
		}
	})
}

type key struct{}
