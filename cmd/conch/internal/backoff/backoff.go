// Package backoff says how long to pause before something that has ended is begun again. It
// is pure: its caller keeps the time.
package backoff

import "time"

// settled is how long something has to go on for the pauses to begin with the first again.
const settled = 10 * time.Second

// Pauses double from the first to the longest.
type Pauses struct {
	First, Most time.Duration
	next        time.Duration
}

// After returns the pause after something that went on for a while and ended.
func (p *Pauses) After(ran time.Duration) time.Duration {
	if ran > settled {
		p.Reset()
	}
	pause := max(p.First, p.next)
	p.next = min(2*pause, p.Most)
	return pause
}

// Reset makes the next pause the first again.
func (p *Pauses) Reset() { p.next = 0 }
