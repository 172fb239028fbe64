package doctor

import (
	"fmt"
	"time"
)

// clockTolerance is the difference from which a comparison of two logs misleads.
const clockTolerance = 3 * time.Second

func clock(f Facts) []Finding {
	ahead := f.ClockAhead.Round(time.Millisecond / 10)
	if ahead.Abs() <= clockTolerance+f.ClockSpan {
		return ok(fmt.Sprintf("the database's clock and this machine's differ by %s, known to %s; no decision uses it", ahead.Abs(), f.ClockSpan.Round(time.Millisecond/10)))
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	return warn(fmt.Sprintf("the database's clock is %s %s this machine's; no decision uses it, but the times in their logs do not match", ahead.Abs(), way),
		"let both machines synchronise their clocks (NTP)")
}

func boottime(f Facts) []Finding {
	if f.Boottime {
		return ok("this machine has a clock that goes on while it is suspended")
	}
	return fail("this machine has no clock that goes on while it is suspended: its gate never opens",
		"allow clock_gettime(CLOCK_BOOTTIME): a seccomp filter may forbid it")
}
