package gossip

import (
	"time"

	"golang.org/x/sys/unix"
)

// boottime reads CLOCK_MONOTONIC, which on Darwin counts while the machine sleeps.
func boottime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano()), err
}
