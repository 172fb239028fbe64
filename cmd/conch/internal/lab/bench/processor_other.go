//go:build unix && !linux

package bench

import "time"

// Processor time is unknown on this system.
func spent(...int) time.Duration   { return 0 }
func spentBelow(int) time.Duration { return 0 }
