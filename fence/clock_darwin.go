package fence

import (
	"math"

	"golang.org/x/sys/unix"
)

// boottime reads CLOCK_MONOTONIC, which on Darwin counts while the machine
// sleeps (the clock behind time.Now there is CLOCK_UPTIME_RAW, which does not).
func boottime() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return math.MaxInt64 // no clock, no leadership: every deadline has passed
	}
	return Instant(ts.Nano())
}
