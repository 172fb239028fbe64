package prolog

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns how long the process has had a processor.
func processor() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
