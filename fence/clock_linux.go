package fence

import (
	"math"

	"golang.org/x/sys/unix"
)

// Boottime reads CLOCK_BOOTTIME, which, unlike the monotonic clock behind
// time.Now, goes on while the machine is suspended. A lease runs out on the
// other side during that time, so it must run out here as well.
func Boottime() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return math.MaxInt64 // no clock, no leadership: every deadline has passed
	}
	return Instant(ts.Nano())
}
