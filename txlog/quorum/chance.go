package quorum

// chance is a small source of random numbers (SplitMix64), since a machine has to replay from its inputs. What it
// decides needs no secrecy.
type chance uint64

func (c *chance) below(n uint64) uint64 {
	*c += 0x9e3779b97f4a7c15
	z := uint64(*c)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % n
}
