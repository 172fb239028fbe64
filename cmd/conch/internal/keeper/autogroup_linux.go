package keeper

import (
	"fmt"
	"os"
	"strconv"
)

// foremost is the niceness of whoever has to kill.
const foremost = -20

// Where the scheduler groups processes by session, see sched(7), a niceness counts
// only among those of one session, and each session gets the same share: a storm of
// sessions is many and a keeper one, however nice. The group itself has a niceness too.
const autogroupFile = "/proc/self/autogroup"

// setAutogroup needs the same privilege as any niceness below the present one.
func setAutogroup(nice int) error {
	return os.WriteFile(autogroupFile, []byte(strconv.Itoa(nice)), 0)
}

// autogroup is the niceness of our session, 0 where there is no such thing.
func autogroup() (nice int) {
	text, err := os.ReadFile(autogroupFile)
	if err == nil {
		_, _ = fmt.Sscanf(string(text), "/autogroup-%d nice %d", new(int), &nice)
	}
	return nice
}
