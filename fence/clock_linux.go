package fence

import (
	"math"

	"golang.org/x/sys/unix"
)

// Boottime reads CLOCK_BOOTTIME, which, unlike the monotonic clock behind
// time.Now, counts while the machine is suspended. The lease in the mint runs out
// during that time, so the deadline here must pass as well.
func Boottime() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return math.MaxInt64 // no clock, no leadership: every deadline has passed
	}
	return Instant(ts.Nano())
}
