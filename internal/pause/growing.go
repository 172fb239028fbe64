package pause

import "time"

// settled is how long something has to go on for its pauses to begin with the first again.
const settled = 10 * time.Second

// Growing says how long to pause before what has failed is tried again: twice as long each time, from First to Most. It is
// pure: its caller keeps the time.
type Growing struct {
	First, Most time.Duration
	next        time.Duration
}

// Next returns the next pause.
func (g *Growing) Next() time.Duration {
	d := max(g.First, g.next)
	g.next = min(2*d, g.Most)
	return d
}

// Reset makes the next pause the first again.
func (g *Growing) Reset() { g.next = 0 }

// After returns the pause after something that went on for a while and ended.
func (g *Growing) After(ran time.Duration) time.Duration {
	if ran > settled {
		g.Reset()
	}
	return g.Next()
}

// Doubled returns a pause that was doubled so many times, and is at most the longest one.
func Doubled(first time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 0 && first < most; times-- {
		first *= 2
	}
	return min(first, most)
}
