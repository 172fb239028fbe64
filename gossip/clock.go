package gossip

import "time"

// systemClock returns a clock that counts suspended time. Where the system has none it counts the rest.
func systemClock() func() time.Duration {
	began := time.Now()
	base, _ := boottime()
	return func() time.Duration {
		now, err := boottime()
		if err != nil {
			return base + time.Since(began)
		}
		return now
	}
}
