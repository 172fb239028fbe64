package fence_test

import (
	"math"
	"testing"
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
