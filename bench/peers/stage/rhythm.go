package stage

import "time"

// A polling peer has a rhythm that begins with a takeover. A fault at a fixed time after a takeover
// would always meet the same moment of it, and show only the best or the worst case.

// The multiples of each of these irrational numbers are spread evenly over an interval, whatever their
// number, and independently of the other's.
const (
	golden = 0.6180339887498949
	silver = 0.41421356237309515
)

// share returns the i-th instant of an interval.
func share(interval time.Duration, ratio float64, i int) time.Duration {
	turn := float64(i+1) * ratio
	return time.Duration((turn - float64(int(turn))) * float64(interval))
}

// strikeAfter returns the delay of the i-th fault: another moment of the part's longest rhythm.
func (p part) strikeAfter(i int) time.Duration { return share(max(p.beat, p.look), golden, i) }

// anewAfter returns how long a struck member stays away, so that the followers do not poll at the same
// instants for ever. In service nobody starts them at the same instant.
func (p part) anewAfter(i int) time.Duration { return share(p.look, silver, i) }

// times returns how often each fault that ends a leader, and each that stalls it, is injected.
func (p part) times(quick bool) (ends, stalls int) {
	switch {
	case quick:
		return 1, 1
	case p.slow:
		return 4, 3
	default:
		return 10, 5
	}
}
