package spray

// chance draws a machine's choices. The same seed gives the same ones.
type chance struct{ state uint64 }

// draw returns 64 bits.
func (c *chance) draw() uint64 {
	// splitmix64 (Steele, Lea, Flood 2014): small, seedable, good enough to pick peers.
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below draws from [0, n). n is 1 at least.
func (c *chance) below(n int) int { return int(c.draw() % uint64(n)) }
