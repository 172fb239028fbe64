package keeper

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/election"
)

// leastGrace: to end, to be killed and to be buried takes that long at least.
const leastGrace = 20 * time.Millisecond

// Grace is how long before its deadline a command is asked to end: as asked, or where
// nobody asks (0) a quarter of the lease, less where that is too much. The command goes
// on only if the next deadline comes before, so of spare, the time that a heartbeat has
// until the gate shuts ([election.Config.Spare]), it must leave enough to wait behind
// another call and be answered.
func Grace(asked, lease, spare time.Duration) (time.Duration, error) {
	most := min(spare-election.DefaultLockTimeout(lease), lease/2).Truncate(time.Millisecond)
	switch {
	case most < leastGrace:
		return 0, fmt.Errorf("the gate shuts so soon after a heartbeat that no time is left to end a command in: "+
			"raise the late threshold, or shorten the heartbeat interval, by %s or more", leastGrace-most)
	case asked == 0:
		return min(lease/4, most), nil
	case asked < leastGrace || asked > most:
		return 0, fmt.Errorf("--kill-grace %s is not between %s and %s: it may be half of the lease, "+
			"and the next heartbeat has to come before CMD is asked to end", asked, leastGrace, most)
	}
	return asked, nil
}
