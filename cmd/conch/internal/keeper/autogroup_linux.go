package keeper

import (
	"fmt"
	"os"
	"strconv"
)

// foremost is the niceness of a process that has to kill.
const foremost = -20

// autogroupFile sets the niceness of our session. Where the scheduler groups processes by
// session (see sched(7)), the niceness of a process counts only within its session, and sessions
// share the processor equally: the many sessions of a storm would starve the keeper.
const autogroupFile = "/proc/self/autogroup"

// setAutogroup sets the niceness of our session. To lower it takes the usual privilege.
func setAutogroup(nice int) error {
	return os.WriteFile(autogroupFile, []byte(strconv.Itoa(nice)), 0)
}

// autogroup returns the niceness of our session, 0 if the kernel does not group by session.
func autogroup() (nice int) {
	text, err := os.ReadFile(autogroupFile)
	if err == nil {
		_, _ = fmt.Sscanf(string(text), "/autogroup-%d nice %d", new(int), &nice)
	}
	return nice
}
