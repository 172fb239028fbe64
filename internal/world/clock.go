package world

import (
	"math"
	"time"
)

// Never is an instant of true time that does not come.
const Never = time.Duration(math.MaxInt64)

const million = 1_000_000

// Clock is a machine's clock that counts suspended time: it never steps and never
// goes back, but it may run fast or slow.
type Clock struct {
	w     *World
	ppm   int64 // error in parts per million; positive is fast
	base  int64 // reading at since
	since time.Duration
	stood bool // stands still
}

// NewClock returns a clock that reads origin now and is ppm parts per million fast.
func (w *World) NewClock(origin, ppm int64) *Clock {
	return &Clock{w: w, ppm: ppm, base: origin, since: w.now}
}

// Read returns the reading now, in nanoseconds.
func (c *Clock) Read() int64 { return c.At(c.w.now) }

// At returns the reading at an instant of true time, if the clock is not changed before.
func (c *Clock) At(t time.Duration) int64 {
	if c.stood {
		return c.base
	}
	d := int64(t - c.since)
	return c.base + d + d/million*c.ppm + d%million*c.ppm/million // a fast clock's d*c.ppm overflows within minutes
}

// When returns the first instant of true time, maybe a past one, at which the clock reads
// at least reading, if it is not changed before.
func (c *Clock) When(reading int64) time.Duration {
	if c.stood {
		if reading <= c.base {
			return 0
		}
		return Never
	}
	left := reading - c.base
	most := int64(math.MaxInt64 / 2) // more would overflow, here or in At
	if c.ppm < 0 {
		most = most / million * (million + c.ppm)
	}
	if left > most {
		return Never
	}
	if left < -most {
		return 0
	}
	t := c.since + time.Duration(left/(million+c.ppm)*million+left%(million+c.ppm)*million/(million+c.ppm))
	for c.At(t) >= reading { // the division rounds: step through the last nanoseconds
		t--
	}
	for c.At(t) < reading {
		t++
	}
	return t
}

// For returns the true time that a span d on this clock takes.
func (c *Clock) For(d time.Duration) time.Duration {
	return time.Duration(float64(d) * million / float64(million+c.ppm))
}

// SetSpeed changes how fast the clock runs from now on.
func (c *Clock) SetSpeed(ppm int64) {
	c.rebase()
	c.ppm = ppm
}

// Halt makes the clock stand still, like one that does not count suspended time.
func (c *Clock) Halt() {
	c.rebase()
	c.stood = true
}

// Go makes the clock run again.
func (c *Clock) Go() {
	c.rebase()
	c.stood = false
}

func (c *Clock) rebase() { c.base, c.since = c.Read(), c.w.now }
