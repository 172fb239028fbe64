package gossip

import (
	"time"

	"golang.org/x/sys/windows"
)

// boottime counts while the machine sleeps.
func boottime() (time.Duration, error) { return windows.DurationSinceBoot(), nil }
