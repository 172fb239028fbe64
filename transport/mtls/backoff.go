package mtls

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	mostPause  = time.Minute
)

// jitter takes away up to half of a pause, so that nodes that failed together do not come back together.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/2+1) //nolint:gosec // no secret
}
