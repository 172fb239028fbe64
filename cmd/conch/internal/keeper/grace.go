package keeper

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/election/mint"
)

// leastGrace is the least time in which a command can end, be killed and be reaped.
const leastGrace = 20 * time.Millisecond

// Grace returns how long before its deadline a command is asked to end: asked or, if that is 0,
// a quarter of the lease, reduced if that is too much. Only a heartbeat before then keeps the
// command running. So Grace leaves enough of spare, the time that a heartbeat has until the gate
// shuts ([election.Config.Spare]), for the heartbeat to wait behind another call and be answered.
func Grace(asked, lease, spare time.Duration) (time.Duration, error) {
	most := min(spare-mint.DefaultLockTimeout(lease), lease/2).Truncate(time.Millisecond)
	switch {
	case most < leastGrace:
		return 0, fmt.Errorf("the gate shuts so soon after a heartbeat that there is no time to end a command: "+
			"raise the late threshold, or shorten the heartbeat interval, by %s or more", leastGrace-most)
	case asked == 0:
		return min(lease/4, most), nil
	case asked < leastGrace || asked > most:
		return 0, fmt.Errorf("--kill-grace %s is not between %s and %s: it may be at most half of the lease, "+
			"and the next heartbeat must come before CMD is asked to end", asked, leastGrace, most)
	}
	return asked, nil
}
