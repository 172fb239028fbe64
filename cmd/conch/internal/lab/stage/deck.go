package stage

import (
	"math/rand/v2"
	"slices"

	"github.com/conchhq/conch/internal/world"
)

// Deck deals the kinds of faults of a plan: first each kind once, in a random order, then any by weight. Equal random numbers deal
// equal kinds.
type Deck[K comparable] struct {
	First []K // is dealt first

	random *rand.Rand
	kinds  []K
	weight func(K) int
	dealt  int
}

// NewDeck shuffles some kinds. Some weight is more than 0.
func NewDeck[K comparable](random *rand.Rand, kinds []K, weight func(K) int) *Deck[K] {
	d := &Deck[K]{First: slices.Clone(kinds), random: random, kinds: kinds, weight: weight}
	random.Shuffle(len(kinds), func(i, j int) { d.First[i], d.First[j] = d.First[j], d.First[i] })
	return d
}

// Deal returns the next kind. Each takes one random number, those that come first too.
func (d *Deck[K]) Deal() (kind K) {
	kind = world.Weighed(d.random.IntN, d.kinds, d.weight)
	if d.dealt++; d.dealt <= len(d.First) {
		return d.First[d.dealt-1]
	}
	return kind
}
