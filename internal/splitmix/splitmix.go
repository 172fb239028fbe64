// Package splitmix draws numbers that repeat: SplitMix64 (Steele, Lea, Flood 2014), small, seedable and good enough to pick
// peers and to spread pauses. A machine has to replay from its inputs, so it draws from here. Nothing that has to be secret
// may.
package splitmix

// gamma is the odd number nearest to 2⁶⁴ by the golden ratio.
const gamma = 0x9e3779b97f4a7c15

// Source draws numbers; its value is the seed. The same seed gives the same ones. It is not safe for concurrent use.
type Source uint64

// Next draws 64 bits.
func (s *Source) Next() uint64 {
	*s += gamma
	return finish(uint64(*s))
}

// Below draws from [0, n); n is 1 at least.
func (s *Source) Below(n int) int { return int(s.Next() % uint64(n)) }

// Mix returns the number that a Source with this seed draws after n others: neighbours are far apart.
func Mix(seed, n uint64) uint64 { return finish(seed + (n+1)*gamma) }

func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
