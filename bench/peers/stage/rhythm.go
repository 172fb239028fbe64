package stage

import "time"

// Whoever polls does so in a rhythm that begins with a takeover, so a fault that always
// came at the same time after one would always meet the same moment, and show the best or
// the worst that a peer can do as if there were nothing else.

// Two irrational numbers: the multiples of each fall evenly into an interval, however many
// there are, and those of the one say nothing of those of the other.
const (
	golden = 0.6180339887498949
	silver = 0.41421356237309515
)

// share is the i-th instant of an interval.
func share(interval time.Duration, ratio float64, i int) time.Duration {
	turn := float64(i+1) * ratio
	return time.Duration((turn - float64(int(turn))) * float64(interval))
}

// strikeAfter is how long after all are in their places the i-th fault comes: at another
// moment of the longest rhythm that the part has.
func (p part) strikeAfter(i int) time.Duration { return share(max(p.beat, p.look), golden, i) }

// anewAfter is how long whoever was struck stays away after that, so that those who poll do
// not all poll at once for ever: in service nobody starts them at the same instant.
func (p part) anewAfter(i int) time.Duration { return share(p.look, silver, i) }

// times each fault is done to a part: those that end a leader, and those that stall it.
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
