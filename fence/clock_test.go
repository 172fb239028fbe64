package fence_test

import (
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// Boottime does not go back, and goes on.
func TestBoottimeGoesOn(t *testing.T) {
	first := fence.Boottime()
	last := first
	for range 100_000 {
		now := fence.Boottime()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
	if first <= 0 || first == math.MaxInt64 || last == first {
		t.Errorf("from %d to %d", first, last)
	}
	start, wall := fence.Boottime(), time.Now()
	<-time.NewTimer(50 * time.Millisecond).C
	if d := fence.Boottime().Sub(start) - time.Since(wall); d > 20*time.Millisecond || d < -20*time.Millisecond {
		t.Errorf("it is off by %s after 50ms", d)
	}
	if i := fence.Instant(5); i.Add(7) != 12 || i.Add(7).Sub(i) != 7 {
		t.Error("instants do not add up")
	}
	// New takes it when no clock is given.
	g, l := fence.New("s", nil)
	l.Open(token, 0, fence.Boottime().Add(time.Hour))
	if left := g.Left(fence.Act); left > time.Hour || left < 59*time.Minute {
		t.Errorf("%s are left of an hour", left)
	}
}
