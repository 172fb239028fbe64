package fence

import (
	"math"

	"golang.org/x/sys/unix"
)

// boottime reads CLOCK_BOOTTIME.
func boottime() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return math.MaxInt64 // no clock, no leadership: every deadline has passed
	}
	return Instant(ts.Nano())
}
