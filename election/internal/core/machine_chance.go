package core

import (
	"time"

	"github.com/conchhq/conch/internal/splitmix"
)

// chance draws the random pauses of a machine, so that processes do not fall into step (S10). The
// same seed gives the same pauses.
type chance struct {
	source   splitmix.Source
	shortest time.Duration // BackoffMin: the longest first pause of a back-off
	longest  time.Duration // RetryMax: no pause of a back-off is longer
}

// jitter spreads d by ±20 %.
func (c *chance) jitter(d time.Duration) time.Duration {
	return c.between(d-d/5, d+d/5)
}

// maxDoublings limits the exponent of a back-off.
const maxDoublings = 10

// backoff returns an exponential pause with jitter and a cap (S5). failures is at least 1.
func (c *chance) backoff(failures int) time.Duration {
	d := min(c.shortest<<min(failures-1, maxDoublings), c.longest)
	return c.between(d/2, d)
}

func (c *chance) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(c.source.Next()%uint64(hi-lo))
}
