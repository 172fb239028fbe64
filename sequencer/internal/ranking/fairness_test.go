package ranking

import (
	"fmt"
	"math"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// P4, D8: with rendezvous every node coordinates its part of the ranges, within 5 % over 100,000 ranges. The circle
// of the document does not: the test shows what it costs.
func TestSharesAreEven(t *testing.T) {
	t.Parallel()
	sizes := []int{2, 16}
	if runtest.Nightly() {
		sizes = []int{2, 3, 4, 5, 8, 11, 16}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n, " nodes"), func(t *testing.T) {
			t.Parallel()
			for name, ranges := range map[string]int{"rendezvous": 100_000, "circle": 10_000} {
				off := spread(shares(policies[name], named(n), ranges, ""), float64(ranges)/float64(n))
				t.Logf("%s: the largest deviation is %.1f %%", name, 100*off)
				if name == "rendezvous" && off > 0.05 {
					t.Errorf("a share is %.1f %% off, want 5 %% at most", 100*off)
				}
				if name == "circle" && n == 16 && off < 0.25 {
					t.Errorf("the circle is even to %.1f %%: is it still the document's?", 100*off)
				}
			}
		})
	}
}

// D8: the ranges of a node that is away fall to all others alike; on the circle they fall to two neighbours. Over a
// million ranges, as the night has them, each of fifteen survivors has its part within 10 %; over fewer, chance alone is
// above that.
func TestADeadNodesRangesFallToAll(t *testing.T) {
	t.Parallel()
	ranges, most := 20_000, 0.5
	if runtest.Nightly() {
		ranges, most = 1_000_000, 0.1
	}
	nodes := named(16)
	heirs := shares(Rendezvous{}, nodes, ranges, nodes[3])
	total := 0
	for _, n := range heirs {
		total += n
	}
	if off := spread(heirs, float64(total)/15); off > most || len(heirs) != 15 {
		t.Errorf("%d survivors have the ranges of the dead node, %.1f %% off an even part; want 15 and %.0f %%", len(heirs), 100*off, 100*most)
	}
	if heirs := shares(Circle{}, nodes, 10_000, nodes[3]); len(heirs) > 2 {
		t.Errorf("on the circle %d nodes have the ranges of the dead one, want its two neighbours", len(heirs))
	}
}

// shares returns how often each node comes first or, if a node is named, second behind that one.
func shares(policy Policy, nodes []string, ranges int, behind string) map[string]int {
	first := map[string]int{}
	for r := range ranges {
		order := policy.Order("0xc0ffee", nodes, Range(r))
		switch behind {
		case "":
			first[order[0]]++
		case order[0]:
			first[order[1]]++
		}
	}
	return first
}

// spread returns the largest deviation from a fair share, as a part of it.
func spread(shares map[string]int, fair float64) (most float64) {
	for _, n := range shares {
		most = max(most, math.Abs(float64(n)-fair)/fair)
	}
	return most
}

func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{5, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes := named(n)
			for i := range b.N {
				Rendezvous{}.Order("0xc0ffee", nodes, Range(i))
			}
		})
	}
}
